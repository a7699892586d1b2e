import { type ChildProcess, spawn } from 'node:child_process'
import { stat, statfs } from 'node:fs/promises'
import { BalletError } from '../../src-shared/refusal.ts'
import { gitMarker, MARK_VARIABLE, type Marker, markOf } from '../process-tree/index.ts'
import { classifyGitFailure, type GitSubject } from './classify.ts'
import {
  type Environment,
  gitEnvironment,
  namesSshCommand,
  QUIET_SSH_COMMAND,
} from './environment.ts'
import { lookForPrograms, withSettings } from './local-programs.ts'
import { withoutCredentials } from './redact.ts'

/** How long git may take, in milliseconds. */
export const GIT_LIMITS = { clone: 30 * 60_000, transfer: 10 * 60_000, other: 60_000 } as const

const OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024
const STDERR_KEPT = 64 * 1024
/** With less room the disk counts as full for a git that could not write: it removes what it had begun. */
const FULL_BYTES = 1024 * 1024
const COULD_NOT_WRITE =
  /\bwrit(e|ing)\b|could not (set|create)|(unable|failed) to create|cannot create/i
/** How long git may take to clean up after SIGTERM. */
const KILL_GRACE_MS = 2_000
/** A daemon that git left behind (an ssh master) may hold the pipes open for ever: this long they may be silent. */
const SILENT_LOOKS = 4
const SILENT_LOOK_MS = 250

export type GitOptions = {
  cwd: string
  /** Default: 60 s, and 10 min for what talks to a remote. */
  limitMs?: number
  signal?: AbortSignal
  /** Added to the environment, such as GIT_INDEX_FILE. */
  env?: Environment
  input?: string | Buffer
  /** Called with each line of stderr as it comes. */
  onLine?: (line: string) => void
  /** For the words of a refusal. */
  about?: GitSubject
}

export type GitResult = {
  exitCode: number
  stdout: Buffer
  stderr: string
  /** The folder that it failed to write in, when there is no room on the disk of that. */
  fullDisk?: string
}

/** Runs the user's git in the background, where nobody can answer it. */
export type Git = {
  readonly env: Readonly<Record<string, string>>
  /**
   * Resolves with any exit code. Rejects with `BalletError`: `git.not-found`, `git.time-limit`, `git.cancelled`,
   * `git.output-too-long`, `workspace.missing`. Nothing of its process group is left then.
   */
  run(args: readonly string[], options: GitOptions): Promise<GitResult>
  /** What it prints, without the last newline. Rejects also when the exit code is not 0. */
  text(args: readonly string[], options: GitOptions): Promise<string>
}

/** What holds for every command of Ballet: no hook, no signature, no daemon, no clean-up of objects runs beside it. */
const ALWAYS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.quotePath=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'commit.gpgSign=false',
  'tag.gpgSign=false',
  'push.gpgSign=false',
  'color.ui=false',
  'credential.interactive=false',
  'advice.addEmbeddedRepo=false',
  'submodule.recurse=false',
].flatMap((setting) => ['-c', setting])

const REMOTE_COMMANDS = new Set(['fetch', 'push', 'ls-remote', 'clone', 'lfs'])

/** What runs no program of a setting: it compares no file with the index, which whatever writes the index may do. */
const PLAIN_COMMANDS = new Set([
  ...['bundle', 'cat-file', 'check-attr', 'commit-tree', 'config', 'diff-tree', 'for-each-ref'],
  ...['init', 'log', 'ls-files', 'ls-tree', 'merge-base', 'pack-objects', 'rev-list', 'rev-parse'],
  ...['symbolic-ref', 'update-ref', 'var', '--version'],
])

/** What looks into submodules, with their settings. */
const DEEP_COMMANDS = new Set(['add', 'status'])

/** `marker`: of the session that git works for; what git starts is found by it when its agent is gone. */
export function createGit(options: { env: Environment; program?: string; marker?: Marker }): Git {
  const { program = 'git', marker } = options
  const env = gitEnvironment(options.env)
  if (marker !== undefined) env[MARK_VARIABLE] = markOf(gitMarker(marker))

  /** What the settings of the repository would run is looked up each time: an agent may write them at any moment. */
  async function withoutPrograms(
    args: readonly string[],
    { cwd, signal, limitMs, env: extra }: GitOptions,
  ): Promise<{ env: Environment; sshCommand?: string | null } | { failed: GitResult }> {
    const [name = ''] = args
    const own = { ...env, ...extra }
    if (PLAIN_COMMANDS.has(name) && !args.includes('--filters')) return { env: own }
    const limits = { limitMs: limitMs ?? GIT_LIMITS.other, ...(signal && { signal }) }
    const ask = (asked: readonly string[], folder: string) =>
      runOnce(program, [...ALWAYS, ...asked], {
        ...limits,
        ...{ cwd: folder, env: folder === cwd ? own : env, name: asked[0] ?? '' },
      })
    const aside = await lookForPrograms(ask, cwd, DEEP_COMMANDS.has(name))
    if ('failed' in aside) return aside
    const place = aside.isElsewhere && own.GIT_DIR === undefined ? { GIT_WORK_TREE: cwd } : {}
    const found = { ...aside.variables, ...place, ...own }
    return { env: withSettings(aside.settings, found), sshCommand: aside.sshCommand }
  }

  async function run(args: readonly string[], given: GitOptions): Promise<GitResult> {
    const isRemote = REMOTE_COMMANDS.has(args[0] ?? '')
    const looked = await withoutPrograms(args, given)
    if ('failed' in looked) return looked.failed
    // The user's own way to call ssh comes first; without a terminal it cannot ask either.
    const ssh =
      isRemote && !namesSshCommand(env)
        ? { GIT_SSH_COMMAND: looked.sshCommand ?? QUIET_SSH_COMMAND }
        : {}
    return runOnce(program, [...ALWAYS, ...args], {
      ...given,
      limitMs: given.limitMs ?? (isRemote ? GIT_LIMITS.transfer : GIT_LIMITS.other),
      env: { ...looked.env, ...ssh },
      name: args[0] ?? '',
    })
  }

  return {
    env,
    run,
    text: async (args, given) => {
      const result = await run(args, given)
      if (result.exitCode !== 0) throw gitFailure(args, result, given.about)
      return result.stdout.toString('utf8').replace(/\n$/, '')
    },
  }
}

/** The refusal of a command that ended with another exit code than 0. */
export function gitFailure(
  args: readonly string[],
  result: GitResult,
  about: GitSubject = {},
): BalletError {
  const failed = {
    exitCode: result.exitCode,
    stdout: result.stdout.toString('utf8'),
    stderr: result.stderr,
    ...(result.fullDisk === undefined ? {} : { fullDisk: result.fullDisk }),
  }
  return new BalletError(classifyGitFailure(args[0] ?? '', failed, about))
}

type OneRun = Omit<GitOptions, 'env' | 'limitMs'> & {
  env: Environment
  limitMs: number
  name?: string
}

async function runOnce(
  program: string,
  args: readonly string[],
  options: OneRun,
): Promise<GitResult> {
  const name = options.name ?? args[0] ?? ''
  if (options.signal?.aborted) throw cancelled(name)
  const child = spawn(program, [...args], {
    cwd: options.cwd,
    env: options.env,
    // A session of its own has no terminal that git or ssh could ask on, and ends as one group.
    detached: process.platform !== 'win32',
    windowsHide: true,
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  let failure: BalletError | undefined
  const fail = (error: BalletError) => {
    if (failure !== undefined) return
    failure = error
    endGroup(child)
  }
  const limit = setTimeout(() => fail(tooSlow(name, options)), options.limitMs)
  const onAbort = () => fail(cancelled(name))
  options.signal?.addEventListener('abort', onAbort, { once: true })

  const output: Buffer[] = []
  let bytes = 0
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > OUTPUT_LIMIT_BYTES) fail(tooLong(name))
    else output.push(chunk)
  })
  const errors = collectLines(options.onLine)
  child.stderr?.on('data', (chunk: Buffer) => errors.add(chunk))
  // git may end before it has read everything; its exit code tells what happened.
  child.stdin?.on('error', () => undefined)
  if (options.input !== undefined) child.stdin?.end(options.input)

  try {
    const exitCode = await exitOf(child, () => bytes + errors.bytes())
    if (failure !== undefined) throw failure
    const result = { exitCode, stdout: Buffer.concat(output), stderr: errors.text() }
    const isFull = exitCode !== 0 && (await isDiskFull(options.cwd, result.stderr))
    return isFull ? { ...result, fullDisk: options.cwd } : result
  } catch (error) {
    throw await whyNotStarted(error, options.cwd)
  } finally {
    clearTimeout(limit)
    options.signal?.removeEventListener('abort', onAbort)
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
}

/** Resolves when everything that it printed was read, which `read` counts. */
function exitOf(child: ChildProcess, read: () => number): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const done = () => resolve(code ?? (signal === null ? 1 : 128))
      let timer: NodeJS.Timeout
      const look = (before: number, silent: number) => {
        timer = setTimeout(() => {
          const now = read()
          if (now === before && silent + 1 >= SILENT_LOOKS) done()
          else look(now, now === before ? silent + 1 : 0)
        }, SILENT_LOOK_MS)
      }
      look(read(), 0)
      child.once('close', () => {
        clearTimeout(timer)
        done()
      })
    })
  })
}

/** Ends git and what it started: first in a way that lets it remove its temporary files. */
function endGroup(child: ChildProcess): void {
  const signal = (name: NodeJS.Signals) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    if (process.platform === 'win32') child.kill(name)
    else killGroup(child.pid, name)
  }
  signal('SIGTERM')
  const timer = setTimeout(() => signal('SIGKILL'), KILL_GRACE_MS)
  child.once('exit', () => {
    clearTimeout(timer)
    // Helpers of the transport that did not end with it.
    if (child.pid !== undefined && process.platform !== 'win32') killGroup(child.pid, 'SIGKILL')
  })
}

function killGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // EPERM: macOS says so of a group of which only a zombie is left.
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/** Keeps the beginning and the end of stderr, and gives its lines away as they come. */
function collectLines(onLine: ((line: string) => void) | undefined) {
  let kept = ''
  let line = ''
  let bytes = 0
  return {
    bytes: () => bytes,
    add(chunk: Buffer): void {
      bytes += chunk.length
      const text = chunk.toString('utf8')
      kept += text
      if (kept.length > STDERR_KEPT) {
        kept = `${kept.slice(0, STDERR_KEPT / 4)}\n…\n${kept.slice(-STDERR_KEPT / 2)}`
      }
      if (onLine === undefined) return
      const parts = (line + text).split(/[\r\n]/)
      line = (parts.pop() ?? '').slice(-4_096)
      for (const part of parts) if (part !== '') onLine(part)
    },
    text: () => kept,
  }
}

async function isDiskFull(cwd: string, said: string): Promise<boolean> {
  if (!COULD_NOT_WRITE.test(said)) return false
  const room = await statfs(cwd).catch(() => null)
  return room !== null && room.bavail * room.bsize < FULL_BYTES
}

async function whyNotStarted(error: unknown, cwd: string): Promise<unknown> {
  if (!(error instanceof Error && 'code' in error) || error instanceof BalletError) return error
  if (error.code !== 'ENOENT' && error.code !== 'EACCES' && error.code !== 'ENOTDIR') return error
  const folder = await stat(cwd).catch(() => null)
  if (folder === null || !folder.isDirectory()) {
    return new BalletError({
      code: 'workspace.missing',
      message: `The folder ${cwd} is not there.`,
      hint: 'It was removed by something else. Start the ticket again for a fresh workspace.',
    })
  }
  return new BalletError(
    {
      code: 'git.not-found',
      message: 'git was not found on the PATH.',
      hint: 'Install git 2.31 or newer (https://git-scm.com), then try again.',
    },
    { cause: error },
  )
}

function tooSlow(name: string, { limitMs, about }: OneRun): BalletError {
  const where = about?.repo === undefined ? '' : ` with ${withoutCredentials(about.repo)}`
  return new BalletError({
    code: 'git.time-limit',
    message: `git ${name}${where} took longer than ${Math.ceil(limitMs / 1_000)} s and was ended.`,
    hint: 'Check the network and the remote, then try again.',
  })
}

function cancelled(name: string): BalletError {
  return new BalletError({ code: 'git.cancelled', message: `git ${name} was cancelled.` })
}

function tooLong(name: string): BalletError {
  return new BalletError({
    code: 'git.output-too-long',
    message: `git ${name} printed more than ${OUTPUT_LIMIT_BYTES / 1024 / 1024} MiB and was ended.`,
  })
}
