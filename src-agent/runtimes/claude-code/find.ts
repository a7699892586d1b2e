import { access, constants, stat } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import type { RuntimeReport } from '../../../src-shared/agent-wire.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { runBriefly } from '../run-briefly.ts'
import { launchEnvironment } from './launch.ts'
import { LOG_IN_HINT } from './turn-end.ts'

export type Report = z.infer<typeof RuntimeReport>

/** The oldest Claude Code whose stream Ballet was measured with. */
export const OLDEST_VERSION = '2.1.197'

/** What the conformance suite was seen to pass with. */
export const VERSIONS = { minimum: OLDEST_VERSION, tested: [OLDEST_VERSION, '2.1.332'] }

const VERSION_LIMIT_MS = 5_000
const LOGIN_LIMIT_MS = 10_000
const INSTALL_HINT =
  'Install it with `npm install -g @anthropic-ai/claude-code`, or give the path of the program in the settings.'
const UPGRADE_HINT = 'Run `claude update`, or `npm install -g @anthropic-ai/claude-code@latest`.'

export type FindOptions = {
  path: string | null
  env: Readonly<Record<string, string>>
  /** Folders that are looked through after PATH; the usual ones by default. */
  usualFolders?: readonly string[]
}

/** Looks for a Claude Code that works, is new enough and is logged in. */
export async function findClaudeCode(options: FindOptions): Promise<Report> {
  const env = launchEnvironment(options.env)
  const candidates = options.path === null ? await candidatesOf(options) : [options.path]
  let best: Report | null = null
  for (const path of candidates) {
    const report = await examine(path, env)
    if (report.problem === null) return withLogin(report, path, env)
    best ??= report
  }
  if (best !== null) return best
  return report(null, null, {
    code: 'runtime.not-found',
    message: 'Claude Code was not found: there is no `claude` on PATH or in the usual places.',
    hint: INSTALL_HINT,
  })
}

/** What the program says of its version, such as `2.1.332`; null when it does not say. */
export async function readVersion(
  path: string,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  return (await examine(path, launchEnvironment(env))).version
}

async function examine(path: string, env: Readonly<Record<string, string>>): Promise<Report> {
  let run: Awaited<ReturnType<typeof runBriefly>>
  try {
    run = await runBriefly(path, ['--version'], { cwd: tmpdir(), env, limitMs: VERSION_LIMIT_MS })
  } catch (error) {
    return report(path, null, cannotRun(path, error))
  }
  const version = /\d+\.\d+\.\d+/.exec(run.stdout)?.[0] ?? null
  if (version === null) {
    const why = run.timedOut
      ? `does not answer to --version within ${VERSION_LIMIT_MS / 1_000} s`
      : `says no version (exit code ${run.exitCode ?? 'none'}): ${(run.stderr || run.stdout).trim().slice(0, 300)}`
    return report(path, null, {
      code: 'runtime.not-working',
      message: `Claude Code at ${path} ${why}`,
      hint: `Run \`${path} --version\` in a terminal to see why. ${INSTALL_HINT}`,
    })
  }
  if (isOlder(version, OLDEST_VERSION)) {
    return report(path, version, {
      code: 'runtime.too-old',
      message: `Claude Code at ${path} is ${version}; Ballet needs ${OLDEST_VERSION} or newer.`,
      hint: UPGRADE_HINT,
    })
  }
  return report(path, version, null)
}

async function withLogin(
  found: Report,
  path: string,
  env: Readonly<Record<string, string>>,
): Promise<Report> {
  const status = await readLogin(path, env)
  if (status === null) return found
  if (status.loggedIn) return { ...found, loggedIn: true, login: status.method }
  return {
    ...found,
    loggedIn: false,
    problem: {
      code: 'runtime.not-logged-in',
      message: 'Claude Code is not logged in.',
      hint: LOG_IN_HINT,
    },
  }
}

/** The configured login; null when the runtime does not tell. It may still have expired. */
async function readLogin(
  path: string,
  env: Readonly<Record<string, string>>,
): Promise<{ loggedIn: boolean; method: string | null } | null> {
  try {
    const { stdout } = await runBriefly(path, ['auth', 'status'], {
      cwd: tmpdir(),
      env,
      limitMs: LOGIN_LIMIT_MS,
    })
    const status: unknown = JSON.parse(stdout)
    if (typeof status !== 'object' || status === null || !('loggedIn' in status)) return null
    const method = 'authMethod' in status ? status.authMethod : null
    return {
      loggedIn: status.loggedIn === true,
      method: typeof method === 'string' && method !== 'none' ? method : null,
    }
  } catch {
    // Not JSON: a version whose status reads otherwise. The session finds out.
    return null
  }
}

function report(path: string | null, version: string | null, problem: Refusal | null): Report {
  return {
    ...{ runtime: 'claude-code', path, version, loggedIn: null, login: null },
    ...{ versions: VERSIONS, problem, notice: noticeOf(version) },
  }
}

function noticeOf(version: string | null): Refusal | null {
  const newest = VERSIONS.tested.at(-1)
  if (version === null || newest === undefined || !isOlder(newest, version)) return null
  return {
    code: 'runtime.newer',
    message: `Claude Code ${version} is newer than ${newest}, the newest that Ballet was tested with.`,
    hint: 'It is used all the same. If something is odd, install the tested one.',
  }
}

function cannotRun(path: string, error: unknown): Refusal {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') {
    return {
      code: 'runtime.not-found',
      message: `There is no Claude Code at ${path}.`,
      hint: INSTALL_HINT,
    }
  }
  return {
    code: 'runtime.not-working',
    message: `Claude Code at ${path} cannot be started: ${error instanceof Error ? error.message : String(error)}`,
    hint: `Run \`${path} --version\` in a terminal to see why. ${INSTALL_HINT}`,
  }
}

async function candidatesOf({ env, usualFolders }: FindOptions): Promise<string[]> {
  const onPath = (env.PATH ?? '').split(delimiter).filter(isAbsolute)
  const names = process.platform === 'win32' ? ['claude.exe', 'claude.cmd'] : ['claude']
  const found: string[] = []
  for (const folder of new Set([...onPath, ...(usualFolders ?? usualPlaces(env))])) {
    for (const name of names) {
      const path = join(folder, name)
      if (await isProgram(path)) found.push(path)
    }
  }
  return found
}

function usualPlaces(env: Readonly<Record<string, string>>): string[] {
  const home = env.HOME ?? env.USERPROFILE ?? homedir()
  return [
    join(home, '.local', 'bin'),
    join(home, '.claude', 'local'),
    join(home, '.claude', 'local', 'node_modules', '.bin'),
    '/usr/local/bin',
    '/opt/homebrew/bin',
    ...(env.NPM_CONFIG_PREFIX === undefined ? [] : [join(env.NPM_CONFIG_PREFIX, 'bin')]),
    join(home, '.npm-global', 'bin'),
    ...(env.APPDATA === undefined ? [] : [join(env.APPDATA, 'npm')]),
    ...besideApplication(),
  ]
}

/** `node_modules/.bin` of the folders above this file: the one that the application was installed with. */
function besideApplication(): string[] {
  const places: string[] = []
  let folder = dirname(fileURLToPath(import.meta.url))
  while (dirname(folder) !== folder) {
    places.push(join(folder, 'node_modules', '.bin'))
    folder = dirname(folder)
  }
  return places
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

/** Compares versions such as `2.1.332`. */
export function isOlder(version: string, than: string): boolean {
  const a = version.split('.').map(Number)
  const b = than.split('.').map(Number)
  for (const [index, wanted] of b.entries()) {
    const part = a[index] ?? 0
    if (part !== wanted) return part < wanted
  }
  return false
}
