import '../../sync/without-jit.ts'
import type { ProjectId } from '../../../src-shared/ids.ts'
import { RuntimeName } from '../../../src-shared/runtimes.ts'
import {
  installOf,
  problemsIn,
  type RuntimeReport,
  reportWord,
  runtimeNames,
  runtimeTitle,
  useAcpAgents,
  useRuntimeReports,
} from '../../stores/runtime-reports.ts'
import { useClient } from '../../sync/client.ts'
import { InlineCode } from '../../ui/inline-code.tsx'

/** How a chosen runtime stands on this machine, and the next step where it is not ready. */
export function RuntimeState({
  runtime,
  report,
}: {
  runtime: RuntimeName
  report: RuntimeReport | undefined
}) {
  if (report === undefined) return null
  const install = installOf(runtime)
  const [first] = problemsIn(report)
  const next = first?.problem.hint ?? (install === null ? '' : `Install it with \`${install}\`.`)
  if (report.path === null) return <InlineCode text={`Not installed. ${next}`} />
  if (first === undefined) return <InlineCode text={reportWord(report)} />
  const where = first.project === null ? '' : `${first.project}: `
  return <InlineCode text={`${where}${first.problem.message} ${next}`} />
}

/** Chooses among the runtimes, with what is found on this machine; an empty value where there may be none. */
export function RuntimeSelect({
  id,
  label,
  value,
  none,
  only,
  describedBy,
  project,
  onChange,
}: {
  id: string
  /** Where no label element names it. */
  label?: string
  value: RuntimeName | ''
  /** What choosing none means; absent where one must be chosen. */
  none?: string
  /** Which can be chosen; all when absent. */
  only?: (runtime: RuntimeName) => boolean
  describedBy?: string
  /** Whose sessions are to run with it. */
  project?: ProjectId
  onChange: (runtime: RuntimeName | '') => void
}) {
  const { reports, asked, busy } = useRuntimeReports(useClient(), project)
  const names = runtimeNames(useAcpAgents()).filter((name) => only?.(name) !== false)
  if (value !== '' && !names.includes(value)) names.push(value)
  // One that is not reported, such as an agent that was taken away, is not here.
  const isThere = (name: RuntimeName) => (reports.get(name)?.path ?? null) !== null
  const groups =
    !asked || busy || reports.size === 0
      ? [{ title: 'Runtimes', names }]
      : [
          { title: 'On this machine', names: names.filter(isThere) },
          { title: 'Not installed', names: names.filter((name) => !isThere(name)) },
        ]
  return (
    <select
      id={id}
      className="field"
      aria-label={label}
      aria-describedby={describedBy}
      value={value}
      onChange={({ target }) => {
        const chosen = RuntimeName.safeParse(target.value)
        onChange(chosen.success ? chosen.data : '')
      }}
    >
      {none === undefined ? null : <option value="">{none}</option>}
      {groups.map((group) =>
        group.names.length === 0 ? null : (
          <optgroup key={group.title} label={group.title}>
            {group.names.map((name) => (
              <option key={name} value={name}>
                {runtimeTitle(name)}
              </option>
            ))}
          </optgroup>
        ),
      )}
    </select>
  )
}

/** The runtime of a project, and how it stands with it on this machine. */
export function RuntimeField({
  value,
  project,
  onChange,
}: {
  value: RuntimeName
  /** Absent before it is added. */
  project?: ProjectId
  onChange: (runtime: RuntimeName) => void
}) {
  const { reports, busy, refusal } = useRuntimeReports(useClient(), project)
  return (
    <div className="form-row">
      <label htmlFor="project-runtime">Runtime</label>
      <RuntimeSelect
        id="project-runtime"
        describedBy="project-runtime-help"
        value={value}
        {...(project === undefined ? {} : { project })}
        onChange={(runtime) => {
          if (runtime !== '') onChange(runtime)
        }}
      />
      <p className="form-help" id="project-runtime-help" aria-live="polite">
        {busy && reports.size === 0 ? (
          'Looking at this machine…'
        ) : refusal === null ? (
          <RuntimeState runtime={value} report={reports.get(value)} />
        ) : (
          refusal.message
        )}
      </p>
    </div>
  )
}
