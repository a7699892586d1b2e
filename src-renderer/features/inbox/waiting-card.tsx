import { type KeyboardEvent, useRef, useState } from 'react'
import type { Session } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { keepDraft, useDraft } from '../../stores/drafts.ts'
import { jumps } from '../../stores/jumps.ts'
import { useClient } from '../../sync/client.ts'
import { showControls } from '../../text/controls.ts'
import { InlineCode } from '../../ui/inline-code.tsx'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { give } from '../composer/steer.ts'
import { resumeSession } from '../session/actions.ts'
import { useAttends } from '../session/attend.ts'
import { DamagedResume } from '../session/damaged-resume.tsx'
import { canResume, reloadText } from '../session/parking.ts'
import { SessionTail } from './session-tail.tsx'
import { WordBox } from './word-form.tsx'

/** A session that waits for a word or failed: how it stands, and a word to go on with. */
export function WaitingCard({ session, onAnswered }: { session: Session; onAnswered: () => void }) {
  const client = useClient()
  const owner = `word.${session.id}`
  const text = useDraft(owner)
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const card = useRef<HTMLElement>(null)
  const hasFailed = session.state === 'failed'
  const goesOn = canResume(session.state)
  const reload = goesOn ? reloadText(session) : null
  useAttends(session.id, text.trim() !== '')

  const run = async (work: () => Promise<Refusal | null>) => {
    if (busy) return
    setBusy(true)
    const why = await work()
    setBusy(false)
    setRefusal(why)
    if (why === null) onAnswered()
  }
  const send = () =>
    run(async () => {
      const { given, refusal: why } = await give(client, session.id, text.trim(), 'queue')
      if (given) keepDraft(owner, '')
      return why
    })
  const again = () =>
    run(async () => {
      const outcome = await resumeSession(client, session.id)
      return outcome.ok ? null : outcome.refusal
    })
  const write = () => card.current?.querySelector('textarea')?.focus()
  const sendOrWrite = () => {
    if (text.trim() === '') write()
    else void send()
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.target !== event.currentTarget || event.repeat) return
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    if (event.key === 'Enter') write()
    else if (event.key.toLowerCase() === 'g' && goesOn) {
      if (!jumps.isUnread(session.id)) void again()
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <section
      ref={card}
      className="q q-plain"
      aria-label={`${session.ticket} ${hasFailed ? 'failed' : 'waits for a word'}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys answer while it has the focus
      tabIndex={0}
      data-question={session.id}
      onKeyDown={onKeyDown}
    >
      <div className="q-head">
        <span className="q-key">{hasFailed ? 'Failed' : 'Waits for a word'}</span>
      </div>
      {session.reason === '' ? null : (
        <p className="q-text">{showControls(session.reason.slice(0, 2_000))}</p>
      )}
      {session.hint === '' ? null : (
        <p className="dim">
          <InlineCode text={session.hint} />
        </p>
      )}
      <DamagedResume session={session} />
      {reload === null ? null : <p className="faint">Going on reloads {reload}.</p>}
      <SessionTail session={session.id} />
      <WordBox
        label={`A word to ${session.ticket}`}
        placeholder={goesOn ? 'A message brings it back' : 'Say how it goes on'}
        value={text}
        disabled={busy}
        takesFocus={false}
        onChange={(value) => keepDraft(owner, value)}
        onSend={sendOrWrite}
        onBack={() => card.current?.focus()}
      />
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      <div className="q-acts">
        <button type="button" className="btn btn-main" aria-disabled={busy} onClick={sendOrWrite}>
          {busy ? 'Sending…' : 'Send'} <Key keys="Enter" />
        </button>
        {goesOn ? (
          <button type="button" className="btn" aria-disabled={busy} onClick={() => void again()}>
            {hasFailed ? 'Go on' : 'Resume'} <Key keys="G" />
          </button>
        ) : null}
      </div>
    </section>
  )
}
