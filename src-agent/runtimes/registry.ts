import { ACP_PRESETS, type AcpAgent, RuntimeName } from '../../src-shared/runtimes.ts'
import { createAcpDriver } from './acp/index.ts'
import { createClaudeCodeDriver } from './claude-code/index.ts'
import { createCodexDriver } from './codex/index.ts'
import type { Driver } from './driver.ts'
import { createOpencodeDriver } from './opencode/index.ts'

/** The drivers of this build, by the names of their runtimes. */
export type Drivers = Readonly<Record<string, Driver>>

export const drivers: Drivers = {
  'claude-code': createClaudeCodeDriver(),
  codex: createCodexDriver(),
  opencode: createOpencodeDriver(),
  ...acpPresets(),
}

/**
 * The driver of a runtime; `acp` says how an `acp:…` one is started, one of the settings other than the preset of its
 * name. Undefined: this build has none.
 */
export function driverOf(
  drivers: Drivers,
  runtime: RuntimeName,
  acp: AcpAgent | null,
): Driver | undefined {
  const preset = ACP_PRESETS[runtime.slice('acp:'.length)]
  if (acp === null || !runtime.startsWith('acp:') || isSame(acp, preset)) return drivers[runtime]
  return createAcpDriver(runtime, acp)
}

function isSame(agent: AcpAgent, preset: AcpAgent | undefined): boolean {
  if (preset === undefined) return false
  const wayOf = ({ title, command, args }: AcpAgent) => JSON.stringify([title, command, args])
  return wayOf(agent) === wayOf(preset)
}

function acpPresets(): Record<string, Driver> {
  return Object.fromEntries(
    Object.entries(ACP_PRESETS).map(([name, agent]) => {
      const runtime = RuntimeName.parse(`acp:${name}`)
      return [runtime, createAcpDriver(runtime, agent)]
    }),
  )
}
