import { isAbsolute } from 'node:path'
import type { RuntimeReport } from '../../../src-shared/agent-wire.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import {
  ACP_PRESETS,
  type AcpAgent,
  presetOf,
  type RuntimeName,
  type RuntimeVersions,
} from '../../../src-shared/runtimes.ts'
import { askVersion } from '../ask-version.ts'
import type { FindOptions } from '../driver.ts'
import { type Look, lookWith, noAnswer } from '../examine-program.ts'
import { programsNamed } from '../find-program.ts'
import { newerNotice } from '../versions.ts'

/** The first word that is like a version, such as `1.18.33`. */
const VERSION = /\d+\.\d+(?:\.\d+)?(?:[-+][\w.]+)?/

/** `path`: that of the agent where null. */
export type AgentToFind = FindOptions & {
  runtime: RuntimeName
  agent: AcpAgent
  versions: RuntimeVersions
}

/** Looks for the agent's program and its version; only a session finds out whether it is logged in. Never throws. */
export async function findAgent(options: AgentToFind): Promise<RuntimeReport> {
  const named = options.path ?? options.agent.command
  const candidates = isAbsolute(named) ? [named] : await programsNamed(named, options.env)
  const look = lookWith(options.env, options)
  let best: RuntimeReport | null = null
  for (const path of candidates) {
    const report = await examine(path, options, look)
    if (report.problem === null) return report
    best ??= report
  }
  if (best !== null) return best
  return reportOf(options, null, null, {
    code: 'runtime.not-found',
    message: `${options.agent.title} was not found: there is no \`${named}\` on PATH or in the usual places.`,
    hint: installHint(options),
  })
}

async function examine(path: string, options: AgentToFind, look: Look): Promise<RuntimeReport> {
  const { agent } = options
  try {
    const run = await askVersion(path, { ...look, limitMs: look.leftMs() })
    const version = VERSION.exec(run.stdout)?.[0] ?? VERSION.exec(run.stderr)?.[0] ?? null
    if (run.timedOut) return reportOf(options, path, null, noAnswer(agent.title, path, look))
    // An agent of somebody's own may have no version: its handshake shows whether it works.
    return reportOf(options, path, version, null)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const why = error instanceof Error ? error.message : String(error)
    return reportOf(options, path, null, {
      code: code === 'ENOENT' ? 'runtime.not-found' : 'runtime.not-working',
      message:
        code === 'ENOENT'
          ? `There is no ${agent.title} at ${path}.`
          : `${agent.title} at ${path} cannot be started: ${why}`,
      hint: installHint(options),
    })
  }
}

function installHint({ agent }: AgentToFind): string {
  const preset = ACP_PRESETS[presetOf(agent) ?? '']
  return preset !== undefined
    ? `Install it with \`${preset.install}\`, or give the path of the program in the settings.`
    : 'Install it, or give the absolute path of the program in the settings.'
}

function reportOf(
  { runtime, agent, versions }: AgentToFind,
  path: string | null,
  version: string | null,
  problem: Refusal | null,
): RuntimeReport {
  const notice = problem === null ? newerNotice(agent.title, version, versions) : null
  return { runtime, path, version, loggedIn: null, login: null, versions, problem, notice }
}
