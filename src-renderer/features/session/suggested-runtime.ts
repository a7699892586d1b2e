import type { RuntimeName } from '../../../src-shared/runtimes.ts'
import type { RuntimeReport } from '../../stores/runtime-reports.ts'

type Report = Pick<RuntimeReport, 'path' | 'problem' | 'loggedIn'>

const isReady = ({ path, problem, loggedIn }: Report) =>
  path !== null && problem === null && loggedIn !== false

/** The first other runtime that is here and logged in, else one of which the login is not known; null: there is none. */
export function suggestedRuntime(
  current: RuntimeName,
  names: readonly RuntimeName[],
  reports: ReadonlyMap<string, Report>,
): RuntimeName | null {
  const ready = names.filter((name) => {
    const report = reports.get(name)
    return name !== current && report !== undefined && isReady(report)
  })
  return ready.find((name) => reports.get(name)?.loggedIn === true) ?? ready[0] ?? null
}
