import { type ReactNode, useCallback, useEffect, useState } from 'react'
import type { DoctorReport } from '../../../src-shared/contract.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { NotificationReport } from '../../../src-shared/window-bridge.ts'
import {
  loginWord,
  problemsIn,
  type RuntimeReport,
  reportWord,
  runtimeTitle,
} from '../../stores/runtime-reports.ts'
import { bridge } from '../../sync/bridge.ts'
import { useClient } from '../../sync/client.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { InlineCode } from '../../ui/inline-code.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { bytes, counted } from '../../ui/words.ts'
import { RuntimeState } from '../project/runtime-field.tsx'
import { attempt } from '../session/actions.ts'
import { PaneHead } from '../shell/pane-head.tsx'

/** A service of the desktop may come and go while the page is open. */
const NOTIFICATIONS_LOOK_MS = 2_000

function Line({
  name,
  well,
  children,
}: {
  name: string
  well: boolean | null
  children: ReactNode
}) {
  return (
    <tr>
      <td className="table-state">
        <StateDot look={well === null ? 'quiet' : well ? 'on' : 'bad'} />
        {name}
      </td>
      <td>{children}</td>
    </tr>
  )
}

function RuntimeLine({ report }: { report: RuntimeReport }) {
  const { tested } = report.versions
  const [first] = problemsIn(report)
  return (
    <Line
      name={runtimeTitle(report.runtime)}
      // One that is not there keeps nothing from working, unless something needs it: then it is a problem above.
      well={report.path === null ? null : first === undefined}
    >
      {report.path === null ? (
        <span className="dim">
          <RuntimeState runtime={report.runtime} report={report} />
        </span>
      ) : (
        <>
          {reportWord(report)}
          {tested.length === 0 ? null : (
            <span className="faint"> · tested {tested.join(', ')}</span>
          )}
          <div className="mono dim">{report.path}</div>
          {(report.projects ?? []).map((each) => (
            <div key={each.project} className="dim">
              {each.name}:{' '}
              {each.problem === null ? loginWord(each) || 'login not known' : each.problem.message}
            </div>
          ))}
          {first === undefined ? null : (
            <div className="dim">
              <InlineCode text={`${first.problem.message} ${first.problem.hint ?? ''}`} />
            </div>
          )}
          {report.notice === null ? null : (
            <div className="dim">
              <InlineCode text={`${report.notice.message} ${report.notice.hint ?? ''}`} />
            </div>
          )}
        </>
      )}
    </Line>
  )
}

/** Whether desktop notifications are shown; the application's own windows alone know. */
function NotificationsLine() {
  const [report, setReport] = useState<NotificationReport | null>(null)
  useEffect(() => {
    let isOpen = true
    const look = () =>
      void bridge()
        ?.notifications()
        .then((now) => isOpen && setReport(now))
    look()
    const timer = setInterval(look, NOTIFICATIONS_LOOK_MS)
    return () => {
      isOpen = false
      clearInterval(timer)
    }
  }, [])
  if (report === null) return null
  const { state, service, buttons, reply, problem } = report
  const can = [buttons ? 'buttons' : '', reply ? 'replies' : ''].filter((word) => word !== '')
  return (
    <Line name="Notifications" well={state === 'starting' ? null : state === 'ready'}>
      {state === 'ready' ? service : state === 'starting' ? 'starting…' : 'not shown'}
      {state === 'ready' ? (
        <div className="dim">
          {can.length === 0
            ? 'without buttons or replies: a question is answered in its window'
            : `with ${can.join(' and ')}`}
        </div>
      ) : null}
      {problem === null ? null : (
        <div className="dim">
          {problem.message} {problem.hint}
        </div>
      )}
    </Line>
  )
}

/** What this machine lacks; what is said of a runtime stands in its line. */
function Notes({ report: { notes = [], runtimes } }: { report: DoctorReport }) {
  const inLines = new Set(runtimes.flatMap(({ notice }) => notice?.message ?? []))
  const others = notes.filter(({ message }) => !inLines.has(message))
  if (others.length === 0) return null
  return (
    <ul aria-label="To know">
      {others.map(({ message, hint }) => (
        <li key={message}>
          <InlineCode text={message} /> <span className="dim">{hint}</span>
        </li>
      ))}
    </ul>
  )
}

function Report({ report }: { report: DoctorReport }) {
  const versions = bridge()?.versions
  return (
    <>
      {report.problems.length === 0 ? (
        <p>
          <StateDot look="on" /> All that Ballet needs is there.
        </p>
      ) : (
        report.problems.map((problem) => (
          <RefusalNote key={`${problem.code} ${problem.message}`} refusal={problem} />
        ))
      )}
      <table className="table">
        <tbody>
          {report.runtimes.map((runtime) => (
            <RuntimeLine key={runtime.runtime} report={runtime} />
          ))}
          <Line name="git" well={report.git.path !== null}>
            {report.git.version ?? (report.runtimes.length === 0 ? 'not known' : 'not found')}
            {report.git.path === null ? null : <div className="mono dim">{report.git.path}</div>}
          </Line>
          <Line name="Data folder" well={null}>
            <span className="mono">{report.host.dataDir}</span>{' '}
            <CopyButton text={report.host.dataDir} label="Copy the data folder’s path" />
            <div className="dim">
              database {bytes(report.storage.bytes)}, schema {report.storage.schemaVersion}
              {report.storage.freeBytes === null
                ? ''
                : ` · ${bytes(report.storage.freeBytes)} free`}
            </div>
          </Line>
          <NotificationsLine />
          <Line name="Host" well={null}>
            Ballet {report.host.version} · {report.host.kind} · process {report.host.pid} ·{' '}
            {counted(report.host.agents, 'agent')}
            {versions === undefined ? null : (
              <div className="dim">
                Electron {versions.electron} · Chromium {versions.chrome} · Node {versions.node}
              </div>
            )}
          </Line>
        </tbody>
      </table>
      <Notes report={report} />
    </>
  )
}

/** Looks for everything that Ballet needs on this machine, and says what to do where it is missing. */
export function CheckPage({ pane }: { pane: number }) {
  const client = useClient()
  const [report, setReport] = useState<DoctorReport | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [busy, setBusy] = useState(true)
  const check = useCallback(async () => {
    setBusy(true)
    const outcome = await attempt(() => client.host.doctor())
    setBusy(false)
    if (outcome.ok) {
      setReport(outcome.value)
      setRefusal(null)
    } else setRefusal(outcome.refusal)
  }, [client])
  useEffect(() => void check(), [check])
  return (
    <>
      <PaneHead pane={pane} title="Check this machine" />
      <div className="page" aria-busy={busy}>
        <div className="page-acts">
          <button type="button" className="btn" disabled={busy} onClick={() => void check()}>
            {busy ? 'Looking…' : 'Check again'}
          </button>
        </div>
        {refusal === null ? null : <RefusalNote refusal={refusal} onRetry={() => void check()} />}
        {report === null ? null : <Report report={report} />}
      </div>
    </>
  )
}
