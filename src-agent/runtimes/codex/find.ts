import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { z } from 'zod'
import type { RuntimeReport } from '../../../src-shared/agent-wire.ts'
import type { RuntimeVersions } from '../../../src-shared/runtimes.ts'
import type { FindOptions } from '../driver.ts'
import {
  examineProgram,
  findWorking,
  type Look,
  lookWith,
  type Program,
} from '../examine-program.ts'
import { programsNamed } from '../find-program.ts'
import { runBriefly } from '../run-briefly.ts'
import { codexHome, launchEnvironment } from './launch.ts'
import { LOG_IN_HINT } from './turn-end.ts'

type Report = z.infer<typeof RuntimeReport>

/** Seen to pass the conformance suite. */
export const VERSIONS: RuntimeVersions = { minimum: '0.171.0', tested: ['0.171.0'] }

const INSTALL = 'npm install -g @openai/codex'
const INSTALL_HINT = `Install it with \`${INSTALL}\`, or give the path of the program in the settings.`

const PROGRAM: Program = {
  ...{ runtime: 'codex', title: 'Codex', name: 'codex', versions: VERSIONS },
  ...{ installHint: INSTALL_HINT },
  upgradeHint: `Run \`${INSTALL}@latest\`.`,
}

/** Looks for a Codex that works, is new enough and is logged in. */
export async function findCodex(options: FindOptions): Promise<Report> {
  const env = launchEnvironment(options.env)
  const candidates =
    options.path === null ? await programsNamed('codex', options.env) : [options.path]
  const look = lookWith(env, options)
  const found = await findWorking(PROGRAM, candidates, look)
  return found.problem === null && found.path !== null ? withLogin(found, found.path, look) : found
}

/** What the program says of its version, such as `0.171.0`; null when it does not say. */
export async function readVersion(
  path: string,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  return (
    await examineProgram(PROGRAM, path, lookWith(launchEnvironment(env), { remembers: true }))
  ).version
}

async function withLogin(found: Report, path: string, look: Look): Promise<Report> {
  const provider = await ownProvider(look.env)
  // It is the provider who wants a key, or wants none: the first turn finds out.
  if (provider !== null) return { ...found, login: `provider ${provider}` }
  const login = await readLogin(path, look)
  if (login === null) return found
  if (login.loggedIn) return { ...found, loggedIn: true, login: login.method }
  return {
    ...found,
    loggedIn: false,
    problem: {
      code: 'runtime.not-logged-in',
      message: 'Codex is not logged in.',
      hint: LOG_IN_HINT,
    },
  }
}

/** The model provider that the user's own configuration names instead of OpenAI; null without one. */
async function ownProvider(env: Readonly<Record<string, string>>): Promise<string | null> {
  const text = await readFile(join(codexHome(env), 'config.toml'), 'utf8').catch(() => '')
  // Tables begin after the settings of the whole.
  const top = text.split(/^\s*\[/mu, 1)[0] ?? ''
  const provider = /^\s*model_provider\s*=\s*["']([^"'\n]+)["']/mu.exec(top)?.[1] ?? null
  return provider === 'openai' ? null : provider
}

/** Null when the program does not tell. The login may still have expired. */
async function readLogin(
  path: string,
  look: Look,
): Promise<{ loggedIn: boolean; method: string | null } | null> {
  try {
    const options = { cwd: tmpdir(), env: look.env, limitMs: look.leftMs() }
    const { stdout, stderr, exitCode } = await runBriefly(path, ['login', 'status'], options)
    const said = `${stdout}\n${stderr}`
    if (exitCode === 0) {
      const method = /Logged in using (.+?)(?: - .*)?$/imu.exec(said)?.[1]?.trim() ?? null
      return { loggedIn: true, method }
    }
    return /not logged in/i.test(said) ? { loggedIn: false, method: null } : null
  } catch {
    // A version whose status is asked for otherwise. The session finds out.
    return null
  }
}
