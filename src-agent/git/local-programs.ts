import { lstat, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { type Environment, QUIET_SSH_COMMAND } from './environment.ts'
import type { GitResult } from './run.ts'

/** One value of a setting, in git's own order; `name` has a small section and key. */
type Setting = { scope: string; name: string; value: string }

/** What a repository's own settings would make git run, and what holds for a command in its place. */
type SetAside = {
  /** Names of the settings, each once. */
  names: readonly string[]
  settings: readonly (readonly [string, string])[]
  /** Variables that hold for the command too: what no setting can take back. */
  variables: Environment
  /** The user's own way to call ssh; null where they have none. */
  sshCommand: string | null
  /** The repository says that its files are in another folder. */
  isElsewhere: boolean
}

/** Settings by which git runs a program, and a value by which it runs none, or its own. */
const PROGRAMS: readonly (readonly [RegExp, string])[] = [
  [/^filter\..*\.(clean|smudge|process)$/s, ''],
  [/^core\.sshcommand$/, QUIET_SSH_COMMAND],
  [/^core\.alternaterefscommand$/, ':'],
  [/^remote\..*\.uploadpack$/s, 'git-upload-pack'],
  [/^remote\..*\.receivepack$/s, 'git-receive-pack'],
  // git-lfs itself looks for the words anywhere in a name.
  [/lfs\.customtransfer\.[^.]+\.path/i, ''],
  [/^lfs\.(.*\.)?standalonetransferagent$/is, ''],
  [/^lfs\.extension\..*\.(clean|smudge)$/is, ''],
  // A command that git does not have itself, and of which it finds no program, may be an alias.
  [/^alias\.lfs(\.command)?$/, ''],
  [/^hook\..*\.command$/s, ':'],
  [/^diff\.(external|.*\.(command|textconv))$/s, ''],
  [/^merge\..*\.driver$/s, ''],
  [/^gpg\.(.*\.)?(program|defaultkeycommand)$/s, ''],
]
/** Of several the first one counts, so that only a variable takes its place. */
const PROXY = 'core.gitproxy'
/** A filter with a process uses nothing else of its own. */
const PROCESS = /^(filter\..*)\.process$/s
/** A list, which an empty value begins anew. */
const HELPER = /^credential\.(.*\.)?helper$/s
/** What would let an address run a command (`ext::sh -c …`). */
const PROTOCOL = /^protocol\.(ext\.)?allow$/
const EXT = 'protocol.ext.allow'
/** Where git takes the files from. */
const WORK_TREE = 'core.worktree'

/** What `git lfs install --local` and `git-crypt init` write: the user's own programs, in the words that they use. */
const KNOWN =
  /^(git-lfs (clean|smudge( --skip)?) -- %f|git-lfs filter-process( --skip)?|"git-crypt" (clean|smudge|diff)( --key-name=[\w-]+)?)$/

/** Reads what `git config --show-scope --list -z` prints. */
function readSettings(printed: string): Setting[] {
  const fields = printed.split('\0')
  const found: Setting[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [scope = '', entry = ''] = fields.slice(at, at + 2)
    const end = entry.indexOf('\n')
    // A name alone means true.
    found.push({
      scope,
      ...(end < 0
        ? { name: entry, value: 'true' }
        : { name: entry.slice(0, end), value: entry.slice(end + 1) }),
    })
  }
  return found
}

/** Whether a setting stands in the repository, or in a file that one of there includes. */
const isLocal = ({ scope }: Setting) => scope === 'local' || scope === 'worktree'

/**
 * Looks for programs that the settings of a repository name, and of its submodules where `isDeep`: git looks into those
 * too. `ask` runs git there. Gives git's own failure where it cannot read them. Rejects with `git.configuration` for a
 * setting whose name cannot be handed to git, and for a submodule whose path is no UTF-8.
 */
export async function lookForPrograms(
  ask: (args: readonly string[], cwd: string) => Promise<GitResult>,
  cwd: string,
  isDeep: boolean,
): Promise<SetAside | { failed: GitResult }> {
  const all: Setting[] = []
  let isElsewhere = false
  const folders = new Set([cwd])
  for (const folder of folders) {
    const asked = await ask(['config', '--show-scope', '--list', '-z'], folder)
    if (asked.exitCode !== 0) return { failed: asked }
    const found = readSettings(asked.stdout.toString('utf8'))
    all.push(...(folder === cwd ? found : found.filter(isLocal)))
    if (folder === cwd) isElsewhere = found.some((each) => isLocal(each) && each.name === WORK_TREE)
    if (!isDeep) continue
    const listed = await ask(['ls-files', '--stage', '-z'], folder)
    if (listed.exitCode !== 0) return { failed: listed }
    const inner = await filledSubmodules(folder, listed.stdout.toString('utf8'))
    for (const each of inner) folders.add(each)
  }
  const { names, ...aside } = setAsideOf(all)
  return { names: isElsewhere ? [...names, WORK_TREE] : names, ...aside, isElsewhere }
}

/** In place of each program that a repository's settings name: the user's own value, else one that runs nothing. */
function setAsideOf(all: readonly Setting[]): Omit<SetAside, 'isElsewhere'> {
  const local = all.filter((each) => isLocal(each) && each.value !== '' && !KNOWN.test(each.value))
  const own = all.filter((each) => !isLocal(each))
  const ownOf = (name: string) => own.filter((each) => each.name === name).at(-1)?.value
  const names = new Set<string>()
  const settings = new Map<string, string>()
  for (const { name, value } of local) {
    const rest = PROGRAMS.find(([fits]) => fits.test(name))?.[1]
    if (rest !== undefined && ownOf(name) !== value) {
      names.add(name)
      settings.set(name, ownOf(name) ?? rest)
      const filter = PROCESS.exec(name)?.[1]
      const isOwn = [`${filter}.clean`, `${filter}.smudge`].some((each) => ownOf(each))
      // An empty process keeps the user's own programs from being run: better no commit than one without them.
      if (filter !== undefined && isOwn) settings.set(`${filter}.required`, 'true')
    } else if (PROTOCOL.test(name)) {
      names.add(name)
      settings.set(EXT, ownOf(EXT) ?? 'never')
    }
  }
  const helpers = local.filter(({ name }) => HELPER.test(name))
  for (const { name } of helpers) names.add(name)
  const hasProxy = local.some(({ name }) => name === PROXY)
  if (hasProxy) names.add(PROXY)
  const unnamed = [...names].find((name) => name.includes('\ufffd'))
  if (unnamed !== undefined) throw unreadable(unnamed)
  return {
    names: [...names],
    settings: [...settings, ...(helpers.length === 0 ? [] : helpersOf(own))],
    sshCommand: ownOf('core.sshcommand') || null,
    variables: hasProxy ? { GIT_PROXY_COMMAND: ownOf(PROXY) ?? '' } : {},
  }
}

function helpersOf(own: readonly Setting[]): [string, string][] {
  const known = own.filter(({ name }) => HELPER.test(name))
  return [
    ['credential.helper', ''],
    ...known.map(({ name, value }): [string, string] => [name, value]),
  ]
}

/** An environment in which settings hold, but for those that it has by itself already. */
export function withSettings(settings: SetAside['settings'], env: Environment): Environment {
  if (settings.length === 0) return env
  const count = Number(env.GIT_CONFIG_COUNT ?? 0)
  const given = Array.from({ length: count }, (_, at): [string, string] => [
    env[`GIT_CONFIG_KEY_${at}`] ?? '',
    env[`GIT_CONFIG_VALUE_${at}`] ?? '',
  ])
  const all = [...settings, ...given]
  return {
    ...env,
    GIT_CONFIG_COUNT: String(all.length),
    ...Object.fromEntries(
      all.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
  }
}

/** The real paths of the submodules in an index, as `git ls-files --stage -z` prints it, that are repositories by now. */
async function filledSubmodules(cwd: string, printed: string): Promise<string[]> {
  const links = printed.split('\0').filter((line) => line.startsWith('160000 '))
  const found: string[] = []
  for (const line of links) {
    const path = line.slice(line.indexOf('\t') + 1)
    if (path.includes('\ufffd')) throw unreadablePath(path)
    const link = join(cwd, path)
    const isFilled = (await lstat(join(link, '.git')).catch(() => null)) !== null
    if (isFilled) found.push(await realpath(link))
  }
  return found
}

function unreadablePath(path: string): BalletError {
  return new BalletError({
    code: 'git.configuration',
    message: `The path ${JSON.stringify(path)} of a submodule is no UTF-8: what its settings name as programs cannot be looked at.`,
    hint: 'Have the agent rename or remove the submodule, then try again. Nothing was removed.',
  })
}

function unreadable(name: string): BalletError {
  return new BalletError({
    code: 'git.configuration',
    message: `The setting ${JSON.stringify(name)} of the workspace names a program and has a name that is no UTF-8.`,
    hint: 'Have the agent remove it from .git/config, then try again. Nothing was removed.',
  })
}
