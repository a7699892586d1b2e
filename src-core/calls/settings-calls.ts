import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import { PlannerSettings, Settings, type SettingsChange } from '../../src-shared/settings.ts'
import { receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import { checkAgentsLeave, checkRuntimeName, noPlanner } from '../decide/known-runtimes.ts'
import { merged } from '../decide/merged.ts'
import type { CallContext } from './context.ts'

export function settingsCalls(context: CallContext): Calls['settings'] {
  const { committer, fleet, draining, ports, records } = context
  const { settings } = ports
  return {
    show: async () => accept(settings.current),

    edit: async ({ commandId, ...change }) => {
      const receipt = receiptOf('settings.edit', commandId, Settings)
      const earlier = await committer.earlier(receipt)
      if (earlier !== undefined) return earlier
      const may = checkChange(context, change)
      if (!may.ok) return may
      const next = await settings.change((current) => differing(current, change))
      fleet.resize(next.agents)
      draining.resized({ graceMs: next.drainGraceSeconds * 1_000, fast: false, quits: false })
      records.settingsChanged()
      if (receipt === undefined) return accept(next)
      return committer.transact(async () => accept({ change: null, answer: next }), receipt)
    },
  }
}

/** Refuses a planner that its runtime cannot be, and to take away an agent that something runs with. */
function checkChange(
  { ports, fleet, index }: CallContext,
  { acpAgents = {}, planner }: SettingsChange,
): Result<undefined> {
  const { current } = ports.settings
  const agents = merged(current.acpAgents, acpAgents)
  const runtime = planner?.runtime
  if (runtime !== undefined) {
    const known = checkRuntimeName(runtime, agents)
    if (!known.ok) return known
    if (fleet.capabilities(runtime)?.planner === false) {
      const able = fleet.runtimes.filter(({ capabilities }) => capabilities.planner)
      const names = able.map((each) => each.runtime).join(', ')
      return refuse(
        'planner.runtime',
        `${noPlanner(runtime, agents)}.`,
        names === '' ? 'Switch the planner off instead.' : `These can: ${names}.`,
      )
    }
  }
  const leaving = Object.entries(acpAgents).flatMap(([name, agent]) => (agent === null ? name : []))
  const unknown = leaving.find((name) => !Object.hasOwn(current.acpAgents, name))
  if (unknown !== undefined) {
    const names = Object.keys(current.acpAgents).sort()
    return refuse(
      'settings.no-agent',
      `The settings have no runtime acp:${unknown}.`,
      names.length === 0
        ? 'They have none at all.'
        : `They have ${names.map((name) => `acp:${name}`).join(', ')}.`,
    )
  }
  const sessions = new Map<RuntimeName, string>()
  for (const { runtime: used, id } of index.sessions) sessions.set(used, id)
  return checkAgentsLeave(
    leaving,
    { projects: index.projects, sessions },
    {
      planner: { ...current.planner, ...(runtime === undefined ? {} : { runtime }) },
    },
  )
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
