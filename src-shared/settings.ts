import { z } from 'zod'
import { RuntimeName } from './records.ts'

export const Theme = z.enum(['system', 'light', 'dark'])
export type Theme = z.infer<typeof Theme>

/** What a person sets for one data folder: `<dataDir>/settings.json`. */
export const Settings = z.object({
  /** How many agents the fleet has. */
  agents: z.int().min(1).max(32).default(3),
  /** Absolute paths of runtimes that are not to be looked for. */
  runtimePaths: z.partialRecord(RuntimeName, z.string()).default({}),
  /** Read when the host starts: names of environment variables that reach git, setup commands and runtimes besides the usual ones. */
  passEnv: z.array(z.string()).default([]),
  theme: Theme.default('system'),
})
export type Settings = z.infer<typeof Settings>

/** What is changed of the settings; what is absent stays. */
export const SettingsChange = z.object({
  agents: Settings.shape.agents.unwrap().optional(),
  /** By runtime; null: it is looked for again. */
  runtimePaths: z
    .partialRecord(
      RuntimeName,
      z
        .string()
        .regex(/^(\/|[A-Za-z]:[\\/]|\\\\)/, 'not an absolute path')
        .max(4_096)
        .nullable(),
    )
    .optional(),
  /** The whole list. */
  passEnv: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of an environment variable'))
    .max(200)
    .optional(),
  theme: Theme.optional(),
})
export type SettingsChange = z.infer<typeof SettingsChange>
