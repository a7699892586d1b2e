import { z } from 'zod'
import { NotificationKind } from './records.ts'
import { AcpAgent, AcpAgentName, RuntimeName } from './runtimes.ts'

/** A `RuntimeName` as the key of a record that need not have them all. */
const RuntimeKey = z.string().refine((name) => RuntimeName.safeParse(name).success, {
  error: 'not the name of a runtime: claude-code, opencode, codex, or acp:<name of an agent>',
})

export const Theme = z.enum(['system', 'light', 'dark'])
export type Theme = z.infer<typeof Theme>

/** How the planner runs; it never takes an agent of the fleet. */
export const PlannerSettings = z.object({
  enabled: z.boolean().default(true),
  runtime: RuntimeName.default('claude-code'),
  /** The project's model, or the runtime's own choice, when absent. */
  model: z.string().trim().min(1).max(200).optional(),
  limitSeconds: z.int().min(5).max(900).default(90),
  costLimitUsd: z.number().min(0).max(100).default(0.5),
})
export type PlannerSettings = z.infer<typeof PlannerSettings>

/** What a person sets for one data folder: `<dataDir>/settings.json`. */
export const Settings = z.object({
  /** How many agents the fleet has. */
  agents: z.int().min(1).max(32).default(3),
  /** Absolute paths of runtimes that are not to be looked for. */
  runtimePaths: z.record(RuntimeKey, z.string()).default({}),
  /** More agents of the Agent Client Protocol, by name; one with the name of a preset takes its place. */
  acpAgents: z.record(AcpAgentName, AcpAgent).default({}),
  /** Read when the host starts: names of environment variables that reach git, setup commands and runtimes besides the usual ones. */
  passEnv: z.array(z.string()).default([]),
  theme: Theme.default('system'),
  planner: PlannerSettings.prefault({}),
  /** The kinds of desktop notifications; a project can switch off more. */
  notify: z
    .array(NotificationKind)
    .max(3)
    .default([...NotificationKind.options]),
  /** How long a drained agent's turn may go on before it is interrupted. */
  drainGraceSeconds: z.int().min(0).max(3_600).default(60),
  /** An answer given in the window is held for 5 s, in which it can be taken back. */
  answerUndo: z.boolean().default(true),
})
export type Settings = z.infer<typeof Settings>

/** What is changed of the settings; what is absent stays. */
export const SettingsChange = z.object({
  agents: Settings.shape.agents.unwrap().optional(),
  /** By runtime; null: it is looked for again. */
  runtimePaths: z
    .record(
      RuntimeKey,
      z
        .string()
        .regex(/^(\/|[A-Za-z]:[\\/]|\\\\)/, 'not an absolute path')
        .max(4_096)
        .nullable(),
    )
    .optional(),
  /** By name; null takes one away. The others stay. */
  acpAgents: z.record(AcpAgentName, AcpAgent.nullable()).optional(),
  /** The whole list. */
  passEnv: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of an environment variable'))
    .max(200)
    .optional(),
  theme: Theme.optional(),
  /** What is absent of it stays; a null model: the project's, or the runtime's own choice. */
  planner: z
    .object({
      enabled: z.boolean().optional(),
      runtime: RuntimeName.optional(),
      model: PlannerSettings.shape.model.unwrap().nullable().optional(),
      limitSeconds: PlannerSettings.shape.limitSeconds.unwrap().optional(),
      costLimitUsd: PlannerSettings.shape.costLimitUsd.unwrap().optional(),
    })
    .optional(),
  notify: Settings.shape.notify.unwrap().optional(),
  drainGraceSeconds: Settings.shape.drainGraceSeconds.unwrap().optional(),
  answerUndo: z.boolean().optional(),
})
export type SettingsChange = z.infer<typeof SettingsChange>
