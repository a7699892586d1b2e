import { accept } from '../../src-shared/refusal.ts'
import { PlannerSettings, Settings, type SettingsChange } from '../../src-shared/settings.ts'
import { receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import { merged } from '../decide/merged.ts'
import type { CallContext } from './context.ts'

export function settingsCalls({
  committer,
  fleet,
  draining,
  ports,
  records,
}: CallContext): Calls['settings'] {
  const { settings } = ports
  return {
    show: async () => accept(settings.current),

    edit: async ({ commandId, ...change }) => {
      const receipt = receiptOf('settings.edit', commandId, Settings)
      const earlier = await committer.earlier(receipt)
      if (earlier !== undefined) return earlier
      const next = await settings.change((current) => differing(current, change))
      fleet.resize(next.agents)
      draining.resized({ graceMs: next.drainGraceSeconds * 1_000, fast: false })
      records.settingsChanged()
      if (receipt === undefined) return accept(next)
      return committer.transact(async () => accept({ change: null, answer: next }), receipt)
    },
  }
}

function differing(current: Settings, change: SettingsChange): Partial<Settings> {
  const { agents, theme, passEnv, runtimePaths, acpAgents, planner, notify } = change
  const { drainGraceSeconds, answerUndo } = change
  return {
    ...(agents === undefined ? {} : { agents }),
    ...(theme === undefined ? {} : { theme }),
    ...(passEnv === undefined ? {} : { passEnv: [...new Set(passEnv)] }),
    ...(planner === undefined ? {} : { planner: plannerOf(current.planner, planner) }),
    ...(notify === undefined ? {} : { notify: [...new Set(notify)] }),
    ...(drainGraceSeconds === undefined ? {} : { drainGraceSeconds }),
    ...(answerUndo === undefined ? {} : { answerUndo }),
    ...(runtimePaths === undefined
      ? {}
      : { runtimePaths: merged(current.runtimePaths, runtimePaths) }),
    ...(acpAgents === undefined ? {} : { acpAgents: merged(current.acpAgents, acpAgents) }),
  }
}

/** What is absent of a change stays; a null model takes the model away. */
function plannerOf(
  current: PlannerSettings,
  { model, ...change }: NonNullable<SettingsChange['planner']>,
): PlannerSettings {
  const { model: before, ...kept } = current
  const next = model === undefined ? before : (model ?? undefined)
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  return PlannerSettings.parse({
    ...kept,
    ...Object.fromEntries(given),
    ...(next === undefined ? {} : { model: next }),
  })
}
