import { useEffect, useRef, useState } from 'react'
import { useStore } from 'zustand'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { Session } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { openPage, showDialog } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useSession } from '../../sync/records.ts'
import type { SessionTimeline } from '../../sync/timeline.ts'
import { useTimelines } from '../../sync/timelines-context.ts'
import { showControls } from '../../text/controls.ts'
import { InlineCode } from '../../ui/inline-code.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { Composer } from '../composer/composer.tsx'
import { PaneHead } from '../shell/pane-head.tsx'
import { Timeline } from '../timeline/timeline.tsx'
import { startTicket, takesMessages } from './actions.ts'
import { AnswerAnnouncer } from './announcer.tsx'
import { ConfirmBar } from './confirm-bar.tsx'
import { ContinueDialog } from './continue-dialog.tsx'
import { DamagedResume } from './damaged-resume.tsx'
import type { Confirm } from './ending.ts'
import { ParkedCard } from './parked-card.tsx'
import { SessionHead } from './session-head.tsx'

function Over({ session }: { session: Session }) {
  const client = useClient()
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const again = async () => {
    const outcome = await startTicket(client, session.ticketId)
    if (outcome.ok) openPage({ page: 'session', session: outcome.value.id })
    else setRefusal(outcome.refusal)
  }
  if (session.state === 'moved') {
    return (
      <div className="comp-over">
        <span className="grow">
          This session was {showControls(session.reason)}.{' '}
          <InlineCode text={showControls(session.hint)} />
        </span>
        <button type="button" className="btn" onClick={() => showDialog('import')}>
          Import a session…
        </button>
      </div>
    )
  }
  return (
    <div className="comp-over">
      <span className="grow">
        {refusal === null
          ? session.state === 'finished'
            ? `This session is finished; its work is on ${session.branch}.`
            : 'This session was cancelled.'
          : refusal.message}
      </span>
      <button type="button" className="btn" onClick={() => void again()}>
        Start a new session
      </button>
    </div>
  )
}

function Body({
  session,
  timeline,
  findRequest,
}: {
  session: Session
  timeline: SessionTimeline
  findRequest: number
}) {
  const phase = useStore(timeline.store, (view) => view.phase)
  const away = useStore(timeline.store, (view) => view.away)
  const isEmpty = useStore(timeline.store, (view) => view.rows.length === 0)
  if (phase === 'loading') {
    return (
      <div className="tl-frame tl-blank" aria-busy="true">
        {away === null ? null : <RefusalNote refusal={away} />}
      </div>
    )
  }
  if (isEmpty) {
    return (
      <div className="tl-frame tl-blank">
        <p className="dim">
          {session.state === 'queued'
            ? 'Waits for an agent. The timeline begins when one takes this session.'
            : 'Nothing has happened in this session yet.'}
        </p>
      </div>
    )
  }
  return (
    <Timeline
      timeline={timeline}
      session={session.id}
      runningTurn={session.state === 'working' ? session.turn : null}
      preparing={session.state === 'starting' || session.state === 'resuming'}
      findRequest={findRequest}
    />
  )
}

/** A session: what happened, and where to write to it. */
export function SessionPane({ id, pane, focused }: { id: string; pane: number; focused: boolean }) {
  const session = useSession(id)
  const timelines = useTimelines()
  const [confirm, setConfirm] = useState<Confirm | null>(null)
  const [continuing, setContinuing] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [focusRequest, setFocusRequest] = useState(0)
  const [findRequest, setFindRequest] = useState(0)
  const root = useRef<HTMLDivElement>(null)
  const sessionId = id as SessionId
  const timeline = timelines.open(sessionId)

  useEffect(() => timelines.hold(sessionId), [timelines, sessionId])

  // After a form that led here nothing has the focus; then it is the turn of the text box.
  useEffect(() => {
    if (document.activeElement === document.body) setFocusRequest(1)
  }, [])

  useEffect(() => {
    if (!focused) return
    const onFocus = () => setFocusRequest((count) => count + 1)
    const onConfirm = (event: Event) => {
      if (!(event instanceof CustomEvent)) return
      if (event.detail === 'continue') setContinuing(true)
      else setConfirm(event.detail === 'stop' ? 'stop' : 'finish')
    }
    window.addEventListener('ballet:focus-composer', onFocus)
    const onFind = () => setFindRequest((count) => count + 1)
    window.addEventListener('ballet:confirm', onConfirm)
    window.addEventListener('ballet:find', onFind)
    return () => {
      window.removeEventListener('ballet:focus-composer', onFocus)
      window.removeEventListener('ballet:confirm', onConfirm)
      window.removeEventListener('ballet:find', onFind)
    }
  }, [focused])

  if (session === undefined) {
    return (
      <>
        <PaneHead pane={pane} title="Session" />
        <div className="page">
          <p>This session is gone; its ticket was deleted.</p>
        </div>
      </>
    )
  }
  return (
    <div ref={root} className="session" data-session={id} data-state={session.state}>
      <SessionHead
        session={session}
        timeline={timeline}
        pane={pane}
        onConfirm={setConfirm}
        onContinue={() => setContinuing(true)}
      />
      {continuing ? (
        <ContinueDialog session={session} onClose={() => setContinuing(false)} />
      ) : null}
      <div className="session-notes">
        {confirm === null || !takesMessages(session.state) ? null : (
          <ConfirmBar
            key={confirm}
            what={confirm}
            session={session}
            onClose={() => setConfirm(null)}
            onRefused={setRefusal}
          />
        )}
        {refusal === null ? null : (
          <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />
        )}
        {session.state === 'failed' ? (
          <RefusalNote
            refusal={{
              code: 'session.failed',
              message: session.reason === '' ? 'The session failed.' : session.reason,
              ...(session.hint === '' ? {} : { hint: session.hint }),
            }}
          />
        ) : null}
        {session.state === 'failed' ? <DamagedResume session={session} /> : null}
      </div>
      <Body session={session} timeline={timeline} findRequest={findRequest} />
      {session.state === 'parked' ? <ParkedCard session={session} /> : null}
      {takesMessages(session.state) ? (
        <Composer
          key={id}
          session={sessionId}
          state={session.state}
          turn={session.turn}
          focusRequest={focusRequest}
        />
      ) : (
        <Over session={session} />
      )}
      <AnswerAnnouncer timeline={timeline} ticket={session.ticket} />
    </div>
  )
}
