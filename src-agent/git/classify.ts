import type { Refusal } from '../../src-shared/refusal.ts'
import { withoutCredentials } from './redact.ts'

/** What a command was about, for the words of a refusal. */
export type GitSubject = {
  /** The remote as the project names it. */
  repo?: string
  branch?: string
}

export type FailedGit = {
  exitCode: number
  stdout: string
  stderr: string
  /** The folder that it worked in, when the disk of that is full: git does not always say why it could not write. */
  fullDisk?: string
}

type Rule = {
  fits: RegExp
  /** `said`: the line that fits best; `output`: everything. */
  refusal: (subject: Required<GitSubject>, said: string, output: string) => Refusal
}

const CREDENTIALS_HINT =
  'Ballet uses your ssh agent, your git credential helpers and your git configuration, and never asks for a ' +
  'password in the background.'

const rules: readonly Rule[] = [
  {
    fits: /bad (boolean |numeric )?config (value|line|variable|file)|bad zlib compression level|bad config|could not (parse|lock) config|unknown repository extension|Expected git repo version|invalid value for '?[a-z]+\.[a-z.]+/i,
    refusal: (_, said) => ({
      code: 'git.configuration',
      message: `git cannot use its configuration: ${said}`,
      hint: 'Mend or remove that setting: in the workspace have the agent do it (its .git/config), else in your own (`git config --list --show-origin` names the files). Then try again. Nothing was removed.',
    }),
  },
  {
    fits: /index file (corrupt|smaller than expected)|bad index file|index uses .+ extension, which we do not understand/i,
    refusal: (_, said) => ({
      code: 'workspace.index',
      message: `git cannot read the index of the workspace: ${said}`,
      hint: 'Have the agent make it again (remove .git/index, then `git reset`): the files stay as they are, what was staged has to be staged again. Then try again. Nothing was removed.',
    }),
  },
  {
    fits: /(clean|smudge) filter '.*' failed|external filter '.*' failed/,
    refusal: (_, said) => ({
      code: 'git.filter',
      message: `A file goes through a filter that did not work: ${said}`,
      hint: "Ballet runs the filters of your own git configuration, and none that only the workspace's .git/config names. Set it up there (`git config --global`), or have the agent commit the file itself, then try again. Nothing was removed.",
    }),
  },
  {
    fits: /\[remote rejected\]|hook declined|remote rejected/i,
    refusal: ({ repo, branch }, said, output) => ({
      code: 'push.rejected',
      message: `${repo} did not accept the push to ${branch}: ${remoteWords(output) || said}`,
      hint: 'Look at what the remote says (a protected branch, a hook, a missing right), then try again. The workspace is kept.',
    }),
  },
  {
    fits: /No space left on device|Disk quota exceeded|disk is full|not enough space|out of disk ?space/i,
    refusal: (_, said) => diskFull('the disk', said),
  },
  {
    fits: /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|No .* host key is known/i,
    refusal: ({ repo }, said) => ({
      code: 'remote.refused',
      message: `ssh does not trust the host of ${repo}: ${said}`,
      hint: `${CREDENTIALS_HINT} Connect once in a terminal (git ls-remote ${repo}) and accept the host's key.`,
    }),
  },
  {
    fits: /detected dubious ownership/i,
    refusal: ({ repo }) => ({
      code: 'remote.refused',
      message: `git does not use ${repo}, because it belongs to another user.`,
      hint: `If you trust it: git config --global --add safe.directory ${repo}`,
    }),
  },
  {
    fits: /Authentication failed|could not read (Username|Password)|terminal prompts disabled|Permission denied \((publickey|password|keyboard|gssapi|hostbased)|Too many authentication failures|returned error: 40[13]|HTTP Basic: Access denied|invalid (username|credentials)|Permission to .+ denied|access denied|You may not have access|Permission denied, please try again|sign_and_send_pubkey/i,
    refusal: ({ repo }, said) => ({
      code: 'remote.refused',
      message: `${repo} refused access: ${said}`,
      hint: `${CREDENTIALS_HINT} Make \`git ls-remote ${repo}\` work in a terminal without a question, then try again.`,
    }),
  },
  {
    fits: /Remote branch .+ not found|couldn't find remote ref/i,
    refusal: ({ repo, branch }) => ({
      code: 'branch.unknown',
      message: `${repo} has no branch ${branch}.`,
      hint: 'Name a branch that exists on the remote.',
    }),
  },
  {
    fits: /does not appear to be a git repository|repository .*not found|Repository not found|not a git repository|returned error: 404|is this a git repository|could not be found or you don't have permission|does not exist|unable to find remote helper|transport '.+' not allowed|no path specified|strange (pathname|hostname)/i,
    refusal: ({ repo }, said) => ({
      code: 'remote.not-a-repository',
      message: `There is no git repository at ${repo}: ${said}`,
      hint: 'Check the address, and that you may see the repository; `git ls-remote <address>` shows what git finds.',
    }),
  },
  {
    fits: /stale info|non-fast-forward|fetch first|\[rejected\]|remote ref updated since checkout/i,
    refusal: ({ repo, branch }) => ({
      code: 'push.rejected',
      message: `The branch ${branch} of ${repo} was moved by somebody else, so nothing was written to it.`,
      hint: 'Look at the branch on the remote; have the agent merge it, or delete it there, then try again. The workspace is kept.',
    }),
  },
  {
    fits: /Could not resolve host|Couldn't resolve host|Name or service not known|Temporary failure in name resolution|unable to access|unable to connect|Connection (refused|timed out|reset|closed)|timed out|Network is unreachable|No route to host|Failed to connect|Couldn't connect|hung up|early EOF|unexpected disconnect|Could not read from remote repository|returned error: (5\d\d|429)|RPC failed|SSL|TLS|certificate|Empty reply/i,
    refusal: ({ repo }, said) => ({
      code: 'remote.unreachable',
      message: `${repo} cannot be reached: ${said}`,
      hint: 'Check the network and the address, then try again.',
    }),
  },
]

function diskFull(disk: string, said: string): Refusal {
  return {
    code: 'disk.full',
    message: `git could not write because ${disk} is full: ${said}`,
    hint: 'Free some space on it, then try again. Nothing was removed.',
  }
}

/** Why git failed, from its exit code and the parts of its messages that do not change between versions. */
export function classifyGitFailure(
  command: string,
  failed: FailedGit,
  subject: GitSubject = {},
): Refusal {
  const output = withoutCredentials(`${failed.stderr}\n${failed.stdout}`)
  const repo = withoutCredentials(subject.repo ?? 'the remote')
  const complete = { repo, branch: subject.branch ?? 'the branch' }
  const rule = rules.find(({ fits }) => fits.test(output))
  if (rule === undefined && failed.fullDisk !== undefined) {
    return diskFull(`the disk of ${failed.fullDisk}`, tellingLine(output))
  }
  if (rule !== undefined) return rule.refusal(complete, tellingLine(output, rule.fits), output)
  return {
    code: 'git.failed',
    message: `git ${command} failed with exit code ${failed.exitCode}: ${tellingLine(output)}`,
    hint: 'Nothing was removed. Look at the message of git, then try again.',
  }
}

/** What the remote itself wrote, and git's word for it. */
function remoteWords(output: string): string {
  const words = output
    .split(/[\r\n]+/)
    .flatMap(
      (line) => /^remote: (?!Resolving deltas|Counting|Compressing)(.*\S)/.exec(line)?.[1] ?? [],
    )
  const reason = /\[remote rejected\][^(\n]*\(([^)\n]+)\)/.exec(output)?.[1]
  return shorten([...words, ...(reason === undefined ? [] : [`(${reason})`])].join(' '))
}

function shorten(text: string): string {
  return text.length > 300 ? `${text.slice(0, 299)}…` : text
}

/** The one line of git's output that says most; at most 300 characters. */
function tellingLine(output: string, fits?: RegExp): string {
  const lines = output
    .split(/[\r\n]+/)
    .map((line) => line.replace(/^(remote: )?(fatal|error|ERROR|warning|hint): */, '').trim())
    .filter((line) => line !== '' && !/^(To |Done$|Pushing to )/.test(line))
  const line = lines.find((candidate) => fits?.test(candidate)) ?? lines[0] ?? 'it gave no message'
  return shorten(line)
}
