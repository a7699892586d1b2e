import type { RuntimeName } from '../../src-shared/records.ts'
import { createClaudeCodeDriver } from './claude-code/index.ts'
import type { Driver } from './driver.ts'

/** The drivers of this build, by the names of their runtimes. */
export type Drivers = Readonly<Partial<Record<RuntimeName, Driver>>>

export const drivers: Drivers = { 'claude-code': createClaudeCodeDriver() }
