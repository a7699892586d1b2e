import { rm, stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Git, type GitOptions, type GitResult, gitFailure } from './run.ts'

/** git holds such a lock for milliseconds; one that stays the same for so long was left by a git that was killed. */
const STALE_AFTER_MS = 5_000
const LOOK_MS = 200
const LIMIT_MS = 30_000

/**
 * Like `git.run`, in a repository that nobody else may be writing to any more: waits for a lock of a git that is
 * just ending, and removes one that a killed git left behind.
 */
export async function unlockedRun(
  git: Git,
  args: readonly string[],
  options: GitOptions,
): Promise<GitResult> {
  const deadline = performance.now() + LIMIT_MS
  let seen: { file: string; mark: string | null; since: number } | undefined
  for (;;) {
    const result = await git.run(args, options)
    const file = result.exitCode === 0 ? null : blockingLock(result.stderr, options.cwd)
    const now = performance.now()
    if (file === null || now > deadline) return result
    const mark = await markOf(file)
    if (seen?.file !== file || seen.mark !== mark) seen = { file, mark, since: now }
    if (mark !== null && now - seen.since > STALE_AFTER_MS) await rm(file, { force: true })
    else await sleep(LOOK_MS)
  }
}

/** The same, with what it prints; rejects when the exit code is not 0. */
export async function unlockedText(
  git: Git,
  args: readonly string[],
  options: GitOptions,
): Promise<string> {
  const result = await unlockedRun(git, args, options)
  if (result.exitCode !== 0) throw gitFailure(args, result, options.about)
  return result.stdout.toString('utf8').replace(/\n$/, '')
}

function blockingLock(stderr: string, cwd: string): string | null {
  const named = /Unable to create '(.+\.lock)': File exists/.exec(stderr)?.[1]
  if (named === undefined) return null
  const file = resolve(cwd, named)
  return file.startsWith(resolve(cwd) + sep) ? file : null
}

async function markOf(file: string): Promise<string | null> {
  const info = await stat(file).catch(() => null)
  return info === null ? null : `${info.ino} ${info.mtimeMs} ${info.size}`
}
