import { z } from 'zod'
import { RuntimeName } from './records.ts'

/** What a person sets for one data folder: `<dataDir>/settings.json`. */
export const Settings = z.object({
  /** How many agents the fleet has. */
  agents: z.int().min(1).max(32).default(3),
  /** Absolute paths of runtimes that are not to be looked for. */
  runtimePaths: z.partialRecord(RuntimeName, z.string()).default({}),
  /** Names of environment variables that reach git, setup commands and runtimes besides the usual ones. */
  passEnv: z.array(z.string()).default([]),
})
export type Settings = z.infer<typeof Settings>
