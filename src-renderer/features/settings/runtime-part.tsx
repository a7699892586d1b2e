import { useEffect, useMemo, useRef, useState } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { RuntimeName } from '../../../src-shared/runtimes.ts'
import type { Settings } from '../../../src-shared/settings.ts'
import { openPage } from '../../stores/layout.ts'
import {
  lookForRuntimes,
  problemsIn,
  type RuntimeReport,
  runtimeNames,
  runtimeTitle,
  useRuntimeReports,
} from '../../stores/runtime-reports.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { InlineCode } from '../../ui/inline-code.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { RuntimeState } from '../project/runtime-field.tsx'
import { changeSettings } from './change.ts'
import { OwnAgents } from './own-agents.tsx'
import { Part } from './part.tsx'
import { needsPerson, runtimeLine, wantedRuntimes } from './runtime-needs.ts'

/** Where a runtime is, where that is not to be looked for. */
function RuntimePath({ runtime, path }: { runtime: RuntimeName; path: string | undefined }) {
  const client = useClient()
  const [typed, setTyped] = useState(path ?? '')
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [isSaved, setSaved] = useState(false)
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => setTyped(path ?? ''), [path])
  const isChanged = typed.trim() !== (path ?? '')
  const save = async (given: string) => {
    const problem = await changeSettings(client, {
      runtimePaths: { [runtime]: given === '' ? null : given },
    })
    setRefusal(problem)
    setSaved(problem === null)
    if (problem === null) void lookForRuntimes(client)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged) void save(typed.trim())
      }}
    >
      <div className="page-acts">
        <input
          ref={box}
          className="field mono"
          aria-label={`Path of ${runtimeTitle(runtime)}`}
          value={typed}
          placeholder="found on the PATH"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setTyped(event.target.value)
            setSaved(false)
          }}
        />
        {/* Not disabled: a button that is loses the focus. */}
        <button type="submit" className="btn" aria-disabled={!isChanged}>
          Save
        </button>
        {path === undefined ? null : (
          <button
            type="button"
            className="btn"
            onClick={() => {
              box.current?.focus()
              void save('')
            }}
          >
            Look for it again
          </button>
        )}
        {isSaved && !isChanged ? (
          <span className="dim" role="status">
            Saved.
          </span>
        ) : null}
      </div>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </form>
  )
}

/** A runtime in one line; what there is besides, and where it is looked for, when somebody opens it or has to. */
function RuntimeRow({
  runtime,
  report,
  path,
  isWanted,
}: {
  runtime: RuntimeName
  report: RuntimeReport | undefined
  path: string | undefined
  /** Something is to run with it. */
  isWanted: boolean
}) {
  const needs = needsPerson(report, isWanted)
  const isHere = report !== undefined && report.path !== null
  const tested = report?.versions.tested ?? []
  const [chosen, setChosen] = useState<boolean | null>(null)
  const isOpen = chosen ?? needs
  return (
    <details className="runtime" open={isOpen}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a button, for keys too */}
      <summary
        onClick={(event) => {
          event.preventDefault()
          setChosen(!isOpen)
        }}
      >
        <span className="tl-fold" aria-hidden="true" />
        <StateDot look={needs ? 'bad' : isHere ? 'on' : 'quiet'} />
        <strong>{runtimeTitle(runtime)}</strong>
        <span className="dim clip">
          <InlineCode text={runtimeLine(report)} />
        </span>
      </summary>
      <div className="runtime-body">
        {report === undefined || problemsIn(report).length === 0 ? null : (
          <p>
            <RuntimeState runtime={runtime} report={report} />
          </p>
        )}
        {report?.path == null ? null : <p className="mono dim">{report.path}</p>}
        {tested.length === 0 ? null : <p className="dim">Tested with {tested.join(', ')}.</p>}
        {report?.notice == null ? null : (
          <p className="dim">
            <InlineCode text={`${report.notice.message} ${report.notice.hint ?? ''}`} />
          </p>
        )}
        <RuntimePath runtime={runtime} path={path} />
      </div>
    </details>
  )
}

/** The coding agents: what is on this machine, where it is looked for, and agents that a person adds. */
export function RuntimePart({ settings }: { settings: Settings }) {
  const client = useClient()
  const { reports, busy, refusal } = useRuntimeReports(client)
  const projects = useRecords((records) => records.projects)
  const wanted = useMemo(() => wantedRuntimes(projects.values(), settings), [projects, settings])
  return (
    <>
      <Part
        title="Runtimes"
        help="The coding agents that Ballet drives. An absolute path takes the place of what is found on the PATH."
      >
        <div aria-busy={busy}>
          {runtimeNames(settings.acpAgents).map((runtime) => (
            <RuntimeRow
              key={runtime}
              runtime={runtime}
              report={reports.get(runtime)}
              path={settings.runtimePaths[runtime]}
              isWanted={wanted.has(runtime)}
            />
          ))}
        </div>
        {refusal === null ? null : <RefusalNote refusal={refusal} />}
        <p className="page-acts">
          <button
            type="button"
            className="btn"
            aria-disabled={busy}
            onClick={() => void lookForRuntimes(client)}
          >
            {busy ? 'Looking…' : 'Check again'}
          </button>
          <button type="button" className="btn" onClick={() => openPage({ page: 'check' })}>
            Check this machine
          </button>
        </p>
      </Part>
      <Part
        title="More runtimes"
        help="Any agent that speaks the Agent Client Protocol, by its command line. One with the name of a known one takes its place."
      >
        <OwnAgents agents={settings.acpAgents} reports={reports} />
      </Part>
    </>
  )
}
