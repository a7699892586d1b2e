import { isAbsolute } from 'node:path'
import type { ProbeFinding } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import { emptyRemote, unknownBranch } from '../workspace/mirror.ts'

type Heads = { defaultBranch: string | null; commits: Map<string, string> }

/**
 * The branch that work on a remote would start from, and its tip. Rejects with `remote.unreachable`,
 * `remote.refused`, `remote.not-a-repository`, `remote.empty`, `branch.unknown`.
 */
export async function probeRemote(
  git: Git,
  cwd: string,
  { repo, branch }: { repo: string; branch?: string | undefined },
  limits: { limitMs: number; signal: AbortSignal },
): Promise<ProbeFinding> {
  mustBeAddress(repo)
  const listed = await git.text(['ls-remote', '--symref', '--', repo, 'HEAD', 'refs/heads/*'], {
    cwd,
    about: { repo },
    ...limits,
  })
  const heads = readHeads(listed)
  if (heads.commits.size === 0) throw emptyRemote(repo)
  const name = branch ?? defaultOf(heads)
  const commit = heads.commits.get(name)
  if (commit === undefined) throw unknownBranch(repo, name, [...heads.commits.keys()])
  return { kind: 'remote', branch: name, commit }
}

function readHeads(listed: string): Heads {
  const heads: Heads = { defaultBranch: null, commits: new Map() }
  for (const line of listed.split('\n')) {
    const [value = '', ref = ''] = line.split('\t')
    if (value.startsWith('ref: refs/heads/') && ref === 'HEAD') {
      heads.defaultBranch = value.slice('ref: refs/heads/'.length)
    } else if (ref.startsWith('refs/heads/')) {
      heads.commits.set(ref.slice('refs/heads/'.length), value)
    } else if (ref === 'HEAD' && heads.defaultBranch === null) {
      heads.commits.set('HEAD', value)
    }
  }
  const detached = heads.commits.get('HEAD')
  if (heads.defaultBranch !== null || detached === undefined) return heads
  heads.commits.delete('HEAD')
  const same = [...heads.commits].find(([, commit]) => commit === detached)
  return { ...heads, defaultBranch: same?.[0] ?? null }
}

/** HEAD of the remote may name a branch that is not there. */
function defaultOf({ defaultBranch, commits }: Heads): string {
  const candidates = [defaultBranch, 'main', 'master', ...commits.keys()]
  return candidates.find((name) => name !== null && commits.has(name)) ?? ''
}

/** A relative path or a `~` would mean something else in another folder. */
function mustBeAddress(repo: string): void {
  if (isAbsolute(repo) || /^[a-z][a-z0-9+.-]*:/i.test(repo)) return
  // user@host:path and host:path; the part before the colon holds no slash.
  if (/^[^/\\:]+:[^:]/.test(repo)) return
  throw new BalletError({
    code: 'remote.not-a-repository',
    message: `${repo} is no address that git can fetch from everywhere.`,
    hint: 'Give a URL, user@host:path, or an absolute path.',
  })
}
