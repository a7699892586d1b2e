import type { Project } from '../../../src-shared/records.ts'
import type { RuntimeName } from '../../../src-shared/runtimes.ts'
import type { Settings } from '../../../src-shared/settings.ts'
import { problemsIn, type RuntimeReport, reportWord } from '../../stores/runtime-reports.ts'

/** The runtimes that something is to run with: projects, their stages, the planner, and agents that a person added. */
export function wantedRuntimes(
  projects: Iterable<Pick<Project, 'runtime' | 'stages'>>,
  { planner, acpAgents }: Pick<Settings, 'planner' | 'acpAgents'>,
): ReadonlySet<RuntimeName> {
  const wanted = new Set<RuntimeName>(
    Object.keys(acpAgents).map((name): RuntimeName => `acp:${name}`),
  )
  if (planner.enabled) wanted.add(planner.runtime)
  for (const { runtime, stages } of projects) {
    wanted.add(runtime)
    for (const stage of Object.values(stages))
      if (stage.runtime !== undefined) wanted.add(stage.runtime)
  }
  return wanted
}

/** Whether a person has something to do for it: what is not installed and not wanted is none of it. */
export function needsPerson(report: RuntimeReport | undefined, isWanted: boolean): boolean {
  if (report === undefined) return false
  const problems = problemsIn(report)
  if (problems.length === 0) return false
  const isLogin = problems.every(({ problem }) => problem.code === 'runtime.not-logged-in')
  return isWanted || (report.path !== null && !isLogin)
}

/** How it stands with it, in one line: its version, its state, its login. */
export function runtimeLine(report: RuntimeReport | undefined): string {
  if (report === undefined) return ''
  const word = reportWord(report)
  const [first] = problemsIn(report)
  if (report.path === null || first === undefined) return word
  if (first.project !== null) return `${word} · ${first.project}: ${first.problem.message}`
  return report.loggedIn === false ? word : `${word} · ${first.problem.message}`
}
