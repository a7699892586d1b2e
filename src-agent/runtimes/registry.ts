import type { RuntimeName } from '../../src-shared/records.ts'
import type { Driver } from './driver.ts'

/** The drivers of this build, by the names of their runtimes. */
export type Drivers = Readonly<Partial<Record<RuntimeName, Driver>>>

export const drivers: Drivers = {}
