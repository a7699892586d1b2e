import { tmpdir } from 'node:os'
import type { z } from 'zod'
import type { RuntimeReport } from '../../../src-shared/agent-wire.ts'
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
import { launchEnvironment } from './launch.ts'
import { LOG_IN_HINT } from './turn-end.ts'

export type Report = z.infer<typeof RuntimeReport>

/** The oldest Claude Code whose stream Ballet was measured with. */
export const OLDEST_VERSION = '2.1.197'

/** What the conformance suite was seen to pass with. */
export const VERSIONS = { minimum: OLDEST_VERSION, tested: [OLDEST_VERSION, '2.1.332'] }

const INSTALL_HINT =
  'Install it with `npm install -g @anthropic-ai/claude-code`, or give the path of the program in the settings.'
const UPGRADE_HINT = 'Run `claude update`, or `npm install -g @anthropic-ai/claude-code@latest`.'

const PROGRAM: Program = {
  ...{ runtime: 'claude-code', title: 'Claude Code', name: 'claude', versions: VERSIONS },
  ...{ installHint: INSTALL_HINT, upgradeHint: UPGRADE_HINT },
}

/** Where Claude Code's own installer puts it, below the home folder. */
const OWN_FOLDERS = ['.claude/local', '.claude/local/node_modules/.bin']

/** Looks for a Claude Code that works, is new enough and is logged in. */
export async function findClaudeCode(options: FindOptions): Promise<Report> {
  const env = launchEnvironment(options.env)
  const candidates =
    options.path === null ? await programsNamed('claude', options.env, OWN_FOLDERS) : [options.path]
  const look = lookWith(env, options)
  const found = await findWorking(PROGRAM, candidates, look)
  return found.problem === null && found.path !== null ? withLogin(found, found.path, look) : found
}

/** What the program says of its version, such as `2.1.332`; null when it does not say. */
export async function readVersion(
  path: string,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  return (
    await examineProgram(PROGRAM, path, lookWith(launchEnvironment(env), { remembers: true }))
  ).version
}

async function withLogin(found: Report, path: string, look: Look): Promise<Report> {
  const status = await readLogin(path, look)
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
  look: Look,
): Promise<{ loggedIn: boolean; method: string | null } | null> {
  try {
    const { stdout } = await runBriefly(path, ['auth', 'status'], {
      cwd: tmpdir(),
      env: look.env,
      limitMs: look.leftMs(),
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
