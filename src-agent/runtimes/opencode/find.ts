import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { RuntimeReport } from '../../../src-shared/agent-wire.ts'
import type { RuntimeVersions } from '../../../src-shared/runtimes.ts'
import type { FindOptions } from '../driver.ts'
import { findWorking, lookWith, type Program } from '../examine-program.ts'
import { homeOf, programsNamed } from '../find-program.ts'
import { launchEnvironment } from './launch.ts'
import { dataFolder, isThere } from './places.ts'

/** The only one whose server Ballet was measured with. */
export const VERSIONS: RuntimeVersions = { minimum: '1.18.33', tested: ['1.18.33'] }

const INSTALL_HINT =
  'Install it with `npm install -g opencode-ai`, or give the path of the program in the settings.'
const UPGRADE_HINT = 'Run `opencode upgrade`, or `npm install -g opencode-ai@latest`.'

const PROGRAM: Program = {
  ...{ runtime: 'opencode', title: 'opencode', name: 'opencode', versions: VERSIONS },
  ...{ installHint: INSTALL_HINT, upgradeHint: UPGRADE_HINT },
}

/** Looks for an opencode that works and is new enough, and for logins. */
export async function findOpencode(options: FindOptions): Promise<RuntimeReport> {
  const env = launchEnvironment(options.env)
  const candidates = options.path === null ? await candidatesOf(env) : [options.path]
  const found = await findWorking(PROGRAM, candidates, lookWith(env, options))
  return found.problem === null ? { ...found, ...(await readLogin(env)) } : found
}

async function candidatesOf(env: Readonly<Record<string, string>>): Promise<string[]> {
  // Where its own installer puts it.
  const own = join(
    homeOf(env),
    '.opencode',
    'bin',
    process.platform === 'win32' ? 'opencode.exe' : 'opencode',
  )
  return [...(await programsNamed('opencode', env)), ...((await isThere(own)) ? [own] : [])]
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
