import { type Git, type GitOptions, gitFailure } from '../git/run.ts'
import { foldersWithGit } from '../workspace/inner-git.ts'
import { type AsideFile, selectAside } from '../workspace/set-aside.ts'
import { commitOf, type Head, readHead } from '../workspace/state.ts'
import { withPlaceOfSetting } from './broken-setting.ts'
import { type Conversions, readConversions } from './conversions.ts'
import { type PathBytes, splitList } from './path-bytes.ts'

/** What git's index says of one file. */
export type IndexEntry = {
  path: PathBytes
  /** `100644`, `100755`, `120000`, or `160000` for a submodule. */
  mode: string
  /** Of its content; of the empty content for one that is only intended to be added. */
  id: string
  /** 0; 1 to 3 for the sides of a conflict. */
  stage: number
  assumeUnchanged: boolean
  skipWorktree: boolean
}

/** A workspace as git sees it. Reading it changes nothing. */
export type Survey = {
  cwd: string
  head: Head
  /** Tip of the session's branch in the clone; null when it is not there. */
  own: string | null
  entries: readonly IndexEntry[]
  /** Untracked files that are not ignored and go into a commit. */
  untracked: readonly PathBytes[]
  /** Untracked files that do not. */
  aside: readonly AsideFile[]
  /** Folders below the workspace that are repositories of their own, without the submodules that git tracks. */
  nested: readonly PathBytes[]
  /** What git ignores: files, and folders (with a slash at the end) as a whole. */
  ignored: ReadonlySet<PathBytes>
  /** All values of every setting, the last one holds; names with a small section and key. */
  config: ReadonlyMap<string, readonly string[]>
  conversions: Conversions
}

/** For commands that look at all files. */
export const LONG_LIMIT_MS = 10 * 60_000

/** Rejects with `BalletError` when git cannot read the workspace; one for a setting names the file that has it. */
export async function surveyWorkspace(
  git: Git,
  cwd: string,
  branch: string,
  signal: AbortSignal,
): Promise<Survey> {
  try {
    return await survey(git, cwd, branch, signal)
  } catch (error) {
    throw await withPlaceOfSetting(git, cwd, error)
  }
}

async function survey(git: Git, cwd: string, branch: string, signal: AbortSignal): Promise<Survey> {
  const options: GitOptions = { cwd, signal, limitMs: LONG_LIMIT_MS }
  const others = ['ls-files', '-z', '--others', '--exclude-standard']
  const [head, own, entries, found, ignored, config] = await Promise.all([
    readHead(git, cwd),
    commitOf(git, cwd, `refs/heads/${branch}`),
    readIndex(git, options),
    listed(git, others, options),
    listed(git, [...others, '--ignored', '--directory'], options),
    readConfig(git, options),
  ])
  const all = [...entries.map(({ path }) => path), ...found]
  const conversions = await readConversions(git, all, config, options)
  const nested = await findNested(cwd, { entries, found, ignored })
  const files = found.filter((path) => !path.endsWith('/'))
  const aside = await selectAside(cwd, [...files, ...(await intended(git, entries, options))])
  const isAside = new Set(aside.map(({ path }) => path))
  const untracked = files.filter((path) => !isAside.has(path))
  return {
    ...{ cwd, head, own, entries, untracked, aside, nested },
    ...{ ignored: new Set(ignored), config, conversions },
  }
}

/** Those that git tells of, and those among whose files are some of the workspace's own. */
async function findNested(
  cwd: string,
  known: {
    entries: readonly IndexEntry[]
    found: readonly PathBytes[]
    ignored: readonly PathBytes[]
  },
): Promise<PathBytes[]> {
  const folders = (paths: readonly PathBytes[]) =>
    paths.filter((path) => path.endsWith('/')).map((path) => path.slice(0, -1))
  const told = folders(known.found)
  const submodules = known.entries.filter(({ mode }) => mode === '160000').map(({ path }) => path)
  const closed = new Set([...told, ...submodules, ...folders(known.ignored)])
  return [...told, ...(await foldersWithGit(cwd, closed))]
}

/** Files on the disk that are only intended to be added: like untracked ones, they are in no commit. */
async function intended(
  git: Git,
  entries: readonly IndexEntry[],
  options: GitOptions,
): Promise<PathBytes[]> {
  if (!entries.some(({ id, stage }) => stage === 0 && isEmptyBlob(id))) return []
  const args = ['diff-files', '-z', '--name-only', '--diff-filter=A', '--ignore-submodules=all']
  return listed(git, args, options)
}

export function isEmptyBlob(id: string): boolean {
  return id.startsWith('e69de29bb2d1d6434b8b29ae') || id.startsWith('473a0f4c3be8a93681a267e3')
}

/** The last value of a setting; undefined when it is not set. */
export function setting(config: Survey['config'], name: string): string | undefined {
  return config.get(name)?.at(-1)
}

export async function readIndex(git: Git, options: GitOptions): Promise<IndexEntry[]> {
  const lines = await listed(git, ['ls-files', '-z', '-v', '--stage'], options)
  return lines.map((line) => {
    const tab = line.indexOf('\t')
    const [tag = 'H', mode = '', id = '', stage = '0'] = line.slice(0, tab).split(' ')
    return {
      path: line.slice(tab + 1),
      ...{ mode, id, stage: Number(stage) },
      assumeUnchanged: tag !== tag.toUpperCase(),
      skipWorktree: tag.toUpperCase() === 'S',
    }
  })
}

export async function readConfig(git: Git, options: GitOptions): Promise<Map<string, string[]>> {
  const config = new Map<string, string[]>()
  for (const entry of await listed(git, ['config', '--list', '-z'], options)) {
    const end = entry.indexOf('\n')
    // A name alone means true.
    const name = end < 0 ? entry : entry.slice(0, end)
    const value = end < 0 ? 'true' : entry.slice(end + 1)
    config.set(name, [...(config.get(name) ?? []), value])
  }
  return config
}

/** What a command prints with `-z`. Rejects when it fails. */
export async function listed(
  git: Git,
  args: readonly string[],
  options: GitOptions,
): Promise<PathBytes[]> {
  const result = await git.run(args, options)
  if (result.exitCode !== 0) throw gitFailure(args, result)
  return splitList(result.stdout)
}
