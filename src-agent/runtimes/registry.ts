import type { AcpAgent, RuntimeName } from '../../src-shared/runtimes.ts'
import { createClaudeCodeDriver } from './claude-code/index.ts'
import type { Driver } from './driver.ts'

/** The drivers of this build, by the names of their runtimes. */
export type Drivers = Readonly<Record<string, Driver>>

export const drivers: Drivers = { 'claude-code': createClaudeCodeDriver() }

/** The driver of a runtime; `acp` says how an `acp:…` one is started. Undefined: this build has none. */
export function driverOf(
  drivers: Drivers,
  runtime: RuntimeName,
  _acp: AcpAgent | null,
): Driver | undefined {
  return drivers[runtime]
}
