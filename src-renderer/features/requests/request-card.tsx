import { type KeyboardEvent, type MouseEvent, useMemo, useRef, useState } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { jumps } from '../../stores/jumps.ts'
import { tell } from '../../stores/told.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { useAttends } from '../session/attend.ts'
import { canResume, reloadText } from '../session/parking.ts'
import { DiffView } from '../timeline/diff-view.tsx'
import { OutputView, plainCut } from '../timeline/output-view.tsx'
import { type Answer, answerRequest, isOverAlready, requestAct } from './answers.ts'
import { type Asking, askingWord, wantedOf } from './wanted.ts'

/** A command as far as it is read at one glance; a longer one scrolls in its box. */
function Command({ command, note }: { command: string; note: string | undefined }) {
  return (
    <>
      {note === undefined ? null : <p className="ask-note">{showControls(note.slice(0, 500))}</p>}
      <pre className="tl-out ask-command" tabIndex={command.length > 400 ? 0 : undefined}>
        {plainCut(command)}
      </pre>
    </>
  )
}

/** Everything of the call, so that nobody allows what they could not read. */
function WantedView({ asking, session }: { asking: Asking; session: SessionId }) {
  const wanted = useMemo(() => wantedOf(asking), [asking])
  if (asking.inputBlob !== undefined || wanted.shows === 'arguments') {
    return (
      <OutputView
        text={wanted.shows === 'arguments' ? wanted.text : asking.input}
        blob={asking.inputBlob}
        bytes={undefined}
        session={session}
        label="What it wants to do"
      />
    )
  }
  if (wanted.shows === 'command') return <Command command={wanted.command} note={wanted.note} />
  return <DiffView files={[wanted]} title={asking.title} />
}

function Deny({
  busy,
  onDeny,
  onBack,
}: {
  busy: boolean
  onDeny: (text: string) => void
  onBack: () => void
}) {
  const [text, setText] = useState('')
  return (
    <form
      className="ask-acts"
      onSubmit={(event) => {
        event.preventDefault()
        onDeny(text)
      }}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key !== 'Escape') return
        event.preventDefault()
        onBack()
      }}
    >
      <input
        className="field grow"
        // biome-ignore lint/a11y/noAutofocus: the person just chose to write why
        autoFocus
        value={text}
        maxLength={10_000}
        aria-label="Why it is denied; the model reads it"
        placeholder="Why, or what to do instead: the model reads it"
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="btn btn-bad" disabled={busy}>
        Deny <Key keys="Enter" />
      </button>
      <button type="button" className="btn" onClick={onBack}>
        Back <Key keys="Escape" />
      </button>
    </form>
  )
}

function Hints({ request, session }: { request: string; session: SessionId }) {
  const record = useRecords((records) => records.requests.get(request))
  const reload = useRecords((records) => {
    const held = records.sessions.get(session)
    return held === undefined || !canResume(held.state) ? null : reloadText(held)
  })
  if (record === undefined) return null
  return (
    <>
      {record.waits ? null : (
        <p className="ask-hint">
          The runtime that asked is gone. Allowing brings the session back and allows this very call
          once; denying brings it back with your reason.
          {reload === null ? '' : ` That reloads ${reload}.`}
        </p>
      )}
      <p className="ask-hint">
        {record.sessionRules.length === 0 ? (
          'For this session: this very call, whenever it is made again.'
        ) : (
          <>
            For this session:{' '}
            {record.sessionRules.map((rule, at) => (
              <span key={rule}>
                {at === 0 ? '' : ', '}
                <code>{showControls(rule.slice(0, 200))}</code>
              </span>
            ))}
          </>
        )}
      </p>
    </>
  )
}

/** A runtime's permission request and its answer: by the buttons, or by their keys while it has the focus. */
export function RequestCard({
  asking,
  session,
  headed,
  onAnswered,
}: {
  asking: Asking
  session: SessionId
  /** Something above says already which tool it is. */
  headed: boolean
  onAnswered?: () => void
}) {
  const client = useClient()
  const [denying, setDenying] = useState(false)
  const [given, setGiven] = useState<Answer['outcome'] | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const card = useRef<HTMLElement>(null)
  const busy = given !== null
  useAttends(session, denying)

  const answer = async (by: Answer) => {
    if (busy) return
    setGiven(by.outcome)
    setRefusal(null)
    const problem = await answerRequest(client, asking.id, by)
    if (problem === null) return onAnswered?.()
    setGiven(null)
    if (isOverAlready(problem)) tell(problem)
    else setRefusal(problem)
  }
  /** The second click of a double one was meant for what stood there before. */
  const allow = ({ detail }: MouseEvent, outcome: 'allow' | 'allow-for-session') => {
    if (detail < 2) void answer({ outcome })
  }
  const back = () => {
    setDenying(false)
    card.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    // On a button Enter is that button's.
    if (event.target !== event.currentTarget) return
    const act = requestAct(event)
    if (act === null) return
    event.preventDefault()
    event.stopPropagation()
    if (event.repeat || jumps.isUnread(asking.id)) return
    if (act === 'deny') setDenying(true)
    else void answer({ outcome: act })
  }

  return (
    <section
      ref={card}
      className={headed ? 'ask ask-headed' : 'ask'}
      aria-label={`Permission request: ${askingWord(asking.toolKind)}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys answer while it has the focus
      tabIndex={0}
      data-request={asking.id}
      onKeyDown={onKeyDown}
    >
      <p className="ask-head">
        {headed ? null : <StateDot look="ask" />}
        <strong>{askingWord(asking.toolKind)}</strong>
        {headed ? null : (
          <code className="clip">
            {asking.name} {showControls(asking.title.slice(0, 300))}
          </code>
        )}
      </p>
      <WantedView asking={asking} session={session} />
      <Hints request={asking.id} session={session} />
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      {denying ? (
        <Deny busy={busy} onDeny={(text) => void answer({ outcome: 'deny', text })} onBack={back} />
      ) : (
        <div className="ask-acts">
          <button
            type="button"
            className="btn btn-main"
            disabled={busy}
            onClick={(event) => allow(event, 'allow')}
          >
            {given === 'allow' ? 'Allowing…' : 'Allow once'} <Key keys="Enter" />
          </button>
          <button
            type="button"
            className="btn"
            disabled={busy}
            onClick={(event) => allow(event, 'allow-for-session')}
          >
            {given === 'allow-for-session' ? 'Allowing…' : 'Allow for this session'}{' '}
            <Key keys="S" />
          </button>
          <button type="button" className="btn" disabled={busy} onClick={() => setDenying(true)}>
            {given === 'deny' ? 'Denying…' : 'Deny…'} <Key keys="D" />
          </button>
        </div>
      )}
    </section>
  )
}
