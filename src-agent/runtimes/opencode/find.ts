import { readFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { RuntimeReport } from '../../../src-shared/agent-wire.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { RuntimeVersions } from '../../../src-shared/runtimes.ts'
import { programsNamed } from '../find-program.ts'
import { runBriefly } from '../run-briefly.ts'
import { launchEnvironment } from './launch.ts'
import { dataFolder, isThere } from './places.ts'

/** The only one whose server Ballet was measured with. */
export const VERSIONS: RuntimeVersions = { minimum: '1.18.33', tested: ['1.18.33'] }

const VERSION_LIMIT_MS = 20_000
const INSTALL_HINT =
  'Install it with `npm install -g opencode-ai`, or give the path of the program in the settings.'
const UPGRADE_HINT = 'Run `opencode upgrade`, or `npm install -g opencode-ai@latest`.'

export type FindOptions = { path: string | null; env: Readonly<Record<string, string>> }

/** Looks for an opencode that works and is new enough, and for logins. */
export async function findOpencode(options: FindOptions): Promise<RuntimeReport> {
  const env = launchEnvironment(options.env)
  const candidates = options.path === null ? await candidatesOf(env) : [options.path]
  let best: RuntimeReport | null = null
  for (const path of candidates) {
    const found = await examine(path, env)
    if (found.problem === null) return { ...found, ...(await readLogin(env)) }
    best ??= found
  }
  if (best !== null) return best
  return report(null, null, {
    code: 'runtime.not-found',
    message: 'opencode was not found: there is no `opencode` on PATH or in the usual places.',
    hint: INSTALL_HINT,
  })
}

async function candidatesOf(env: Readonly<Record<string, string>>): Promise<string[]> {
  const home = env.HOME ?? env.USERPROFILE ?? homedir()
  // Where its own installer puts it.
  const own = join(
    home,
    '.opencode',
    'bin',
    process.platform === 'win32' ? 'opencode.exe' : 'opencode',
  )
  return [...(await programsNamed('opencode', env)), ...((await isThere(own)) ? [own] : [])]
}

async function examine(
  path: string,
  env: Readonly<Record<string, string>>,
): Promise<RuntimeReport> {
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
      message: `opencode at ${path} ${why}`,
      hint: `Run \`${path} --version\` in a terminal to see why. ${INSTALL_HINT}`,
    })
  }
  const { minimum } = VERSIONS
  if (minimum !== null && isOlder(version, minimum)) {
    return report(path, version, {
      code: 'runtime.too-old',
      message: `opencode at ${path} is ${version}; Ballet needs ${minimum} or newer.`,
      hint: UPGRADE_HINT,
    })
  }
  return report(path, version, null)
}

/**
 * The providers that it keeps a login of. Without any nothing is known: one may be in its configuration or in the
 * environment, or need none.
 */
async function readLogin(
  env: Readonly<Record<string, string>>,
): Promise<Pick<RuntimeReport, 'loggedIn' | 'login'>> {
  try {
    const text = await readFile(join(dataFolder(env), 'auth.json'), 'utf8')
    const providers = Object.keys(z.record(z.string(), z.unknown()).parse(JSON.parse(text)))
    if (providers.length > 0) return { loggedIn: true, login: providers.join(', ') }
  } catch {
    // Not there or not readable: the session finds out.
  }
  return { loggedIn: null, login: null }
}

function report(
  path: string | null,
  version: string | null,
  problem: Refusal | null,
): RuntimeReport {
  return {
    ...{ runtime: 'opencode', path, version, loggedIn: null, login: null },
    ...{ versions: VERSIONS, problem, notice: problem === null ? noticeOf(version) : null },
  }
}

function noticeOf(version: string | null): Refusal | null {
  const newest = VERSIONS.tested.at(-1)
  if (version === null || newest === undefined || !isOlder(newest, version)) return null
  return {
    code: 'runtime.newer',
    message: `opencode ${version} is newer than ${newest}, the newest that Ballet was tested with.`,
    hint: 'It is used all the same. If something is odd, install the tested one.',
  }
}

function cannotRun(path: string, error: unknown): Refusal {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') {
    return {
      code: 'runtime.not-found',
      message: `There is no opencode at ${path}.`,
      hint: INSTALL_HINT,
    }
  }
  return {
    code: 'runtime.not-working',
    message: `opencode at ${path} cannot be started: ${error instanceof Error ? error.message : String(error)}`,
    hint: `Run \`${path} --version\` in a terminal to see why. ${INSTALL_HINT}`,
  }
}

/** Compares versions such as `1.18.33`. */
function isOlder(version: string, than: string): boolean {
  const a = version.split('.').map(Number)
  const b = than.split('.').map(Number)
  for (const [index, wanted] of b.entries()) {
    const part = a[index] ?? 0
    if (part !== wanted) return part < wanted
  }
  return false
}
