import { useMemo, useRef, useState } from 'react'
import type { Session } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { runCommand, startDemo } from '../../commands.ts'
import { useMinutes } from '../../stores/clock.ts'
import { useDemoStarts } from '../../stores/demo.ts'
import { openPage } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot, sessionLook, sessionWord } from '../../ui/state-dot.tsx'
import { age, counted, money, whole } from '../../ui/words.ts'
import { useInbox } from '../inbox/items.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { overviewGroups } from './groups.ts'

function FirstStart() {
  const client = useClient()
  const busy = useDemoStarts()
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  return (
    <div className="empty">
      <h3>Run coding agents on your tickets, and steer them while they work.</h3>
      <p className="dim">
        A project is a git remote. You write tickets in it; an agent takes a ticket, works in a
        clone of its own, and pushes to a branch of its own. You watch, send messages, and
        interrupt.
      </p>
      <div className="page-acts">
        <button
          type="button"
          className="btn btn-main"
          aria-disabled={busy}
          onClick={() => {
            if (busy) return
            setRefusal(null)
            void startDemo(client).then(setRefusal)
          }}
        >
          {busy ? 'Starting the demo…' : 'Try the demo: no account needed'}
        </button>
        <button type="button" className="btn" onClick={() => runCommand('project.new', client)}>
          New project <Key keys="Mod+Shift+N" />
        </button>
        <button type="button" className="btn" onClick={() => runCommand('check', client)}>
          Check this machine
        </button>
      </div>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </div>
  )
}

function SessionRow({ session }: { session: Session }) {
  const since = age(useMinutes() - Date.parse(session.turnStartedAt ?? session.updatedAt))
  return (
    <button
      type="button"
      className="page-row"
      onClick={() => openPage({ page: 'session', session: session.id })}
    >
      <StateDot look={sessionLook(session)} />
      <span className="clip">
        <span className="side-key">{session.ticket}</span> {showControls(session.title)}
        {session.reason === '' ? null : (
          <span className="faint"> · {showControls(session.reason.slice(0, 200))}</span>
        )}
      </span>
      <span className="pane-meta">
        {sessionWord(session)}
        {session.openQuestions > 1 ? ` ${session.openQuestions} questions` : ''} · {since} ·{' '}
        {money(session.costUsd)}
      </span>
    </button>
  )
}

const SHOWN = 8

function Overview() {
  const client = useClient()
  const sessions = useRecords((records) => records.sessions)
  const items = useInbox()
  const groups = useMemo(() => overviewGroups(items, sessions), [items, sessions])
  return (
    <div className="page">
      {groups.length === 0 ? (
        <p className="dim">Nothing runs and nothing waits for you.</p>
      ) : (
        groups.map(({ title, count, sessions: found }) => (
          <section key={title}>
            <h3>
              {title} <span className="faint">{whole(count)}</span>
            </h3>
            <ul className="page-list">
              {found.slice(0, SHOWN).map((session) => (
                <li key={session.id}>
                  <SessionRow session={session} />
                </li>
              ))}
            </ul>
            {found.length > SHOWN ? (
              <p className="faint">and {counted(found.length - SHOWN, 'more session')}</p>
            ) : null}
          </section>
        ))
      )}
      <div className="page-acts">
        <button type="button" className="btn" onClick={() => runCommand('ticket.new', client)}>
          New ticket <Key keys="Mod+N" />
        </button>
        <button type="button" className="btn" onClick={() => runCommand('project.new', client)}>
          New project <Key keys="Mod+Shift+N" />
        </button>
      </div>
    </div>
  )
}

/** What to do first, or what goes on. */
export function HomePage({ pane }: { pane: number }) {
  const isEmpty = useRecords((records) => records.projects.size === 0)
  const demoStarts = useDemoStarts()
  const isDemoFirst = useRef(demoStarts)
  if (isDemoFirst.current && demoStarts) {
    return (
      <>
        <PaneHead pane={pane} title="Demo" />
        <div className="empty">
          <p className="dim" role="status">
            The demo starts: a sample repository is made, and its ticket goes to an agent.
          </p>
        </div>
      </>
    )
  }
  return (
    <>
      <PaneHead pane={pane} title={isEmpty ? 'Welcome' : 'Overview'} />
      {isEmpty ? <FirstStart /> : <Overview />}
    </>
  )
}
