import type { RuntimeReport } from '../../src-shared/agent-wire.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import type { Settings } from '../../src-shared/settings.ts'
import { checkRuntimeName, noPlanner } from '../decide/known-runtimes.ts'
import type { Fleet } from '../fleet/fleet.ts'

/**
 * What of the runtimes keeps the host from working: only those in use. What is worth knowing of the ones that are there
 * is a note; that one nobody uses is not there is neither.
 */
export function judgeRuntimes(
  reports: readonly RuntimeReport[],
  used: ReadonlySet<RuntimeName>,
  { acpAgents }: Pick<Settings, 'acpAgents'>,
): { problems: Refusal[]; notes: Refusal[] } {
  const unknown = [...used].flatMap((runtime) => {
    const known = checkRuntimeName(runtime, acpAgents)
    return known.ok ? [] : [known.refusal]
  })
  return {
    problems: [
      ...reports.flatMap((report) => (used.has(report.runtime) ? problemsOf(report) : [])),
      ...unknown,
    ],
    notes: reports.flatMap(({ path, notice }) => (path === null ? [] : (notice ?? []))),
  }
}

/** As its projects find it, where there are any: what all of them meet is told once, else with the project's name. */
function problemsOf({ problem, projects = [] }: RuntimeReport): Refusal[] {
  if (projects.length === 0) return problem === null ? [] : [problem]
  const met = new Map<string, { problem: Refusal; names: string[] }>()
  for (const { name, problem: own } of projects) {
    if (own === null) continue
    const key = JSON.stringify([own.code, own.message])
    const same = met.get(key) ?? { problem: own, names: [] }
    same.names.push(JSON.stringify(name))
    met.set(key, same)
  }
  return [...met.values()].map(({ problem: own, names }) =>
    names.length === projects.length && projects.length > 1
      ? own
      : { ...own, message: `For the project ${names.join(', ')}: ${own.message}` },
  )
}

/** The planner that the settings name where it can answer nothing; none where it can, or is off. */
export function plannerNotes(
  { planner, acpAgents }: Pick<Settings, 'planner' | 'acpAgents'>,
  fleet: Pick<Fleet, 'capabilities' | 'runtimes'>,
): Refusal[] {
  if (!planner.enabled || fleet.capabilities(planner.runtime)?.planner !== false) return []
  const able = fleet.runtimes.find(({ capabilities }) => capabilities.planner)
  return [
    {
      code: 'planner.runtime',
      message: `${noPlanner(planner.runtime, acpAgents)}, so every question goes to a person.`,
      hint:
        able === undefined
          ? 'Switch it off with: ballet settings set planner.enabled false'
          : `Give it a runtime that can, with: ballet settings set planner.runtime ${able.runtime}`,
    },
  ]
}
