import { type KeyboardEvent, useRef, useState } from 'react'
import type { Assumption } from '../../../src-shared/questions.ts'
import type { Ticket } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { keepDraft, useDraft } from '../../stores/drafts.ts'
import { jumps } from '../../stores/jumps.ts'
import { openPage } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useSession } from '../../sync/records.ts'
import { AgentText } from '../../text/agent-text.tsx'
import { InlineCode } from '../../ui/inline-code.tsx'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { takesMessages } from '../session/actions.ts'
import { confirmAssumption, overturnAssumption } from './answering.ts'
import { WordBox } from './word-form.tsx'

/** What an agent decided itself, and why. */
export function Assumed({
  assumption,
}: {
  assumption: Pick<Assumption, 'assumption' | 'reason' | 'alternatives' | 'reversibleBy'>
}) {
  const { assumption: text, reason, alternatives, reversibleBy } = assumption
  return (
    <>
      <AgentText text={text} className="q-text" />
      <dl className="assumed">
        <dt>Why</dt>
        <dd>
          <AgentText text={reason} />
        </dd>
        {alternatives.length === 0 ? null : (
          <>
            <dt>Instead of</dt>
            <dd>
              <InlineCode text={alternatives.join(' · ')} />
            </dd>
          </>
        )}
        {reversibleBy === null || reversibleBy === '' ? null : (
          <>
            <dt>Undone by</dt>
            <dd>
              <InlineCode text={reversibleBy} />
            </dd>
          </>
        )}
      </dl>
    </>
  )
}

/** The ticket that a correction became, since its session was over. */
function BecameTicket({ ticket }: { ticket: Ticket }) {
  return (
    <p className="q-hint" role="status">
      <StateDot look="done" />
      <span>
        Overturned.{' '}
        <button
          type="button"
          className="btn-link"
          onClick={() => openPage({ page: 'ticket', ticket: ticket.id })}
        >
          {ticket.key}
        </button>{' '}
        holds the correction.
      </span>
    </p>
  )
}

/** Confirm or overturn; overturning tells the session, or makes a ticket of it where the session is over. */
export function AssumptionActs({
  assumption,
  onReviewed,
  writes,
  onWrites,
  keyed,
}: {
  assumption: Assumption
  /** What is around it listens to its keys; elsewhere it is one thing of many, and calm. */
  keyed: boolean
  onReviewed: (() => void) | undefined
  writes: boolean
  onWrites: (writes: boolean) => void
}) {
  const client = useClient()
  const { id } = assumption
  const session = useSession(assumption.session)
  const isOver = session === undefined || !takesMessages(session.state)
  const text = useDraft(`overturn.${id}`)
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [became, setBecame] = useState<Ticket | null>(null)
  const acts = useRef<HTMLDivElement>(null)

  const confirm = async () => {
    if (busy) return
    setBusy(true)
    const why = await confirmAssumption(client, id)
    setBusy(false)
    setRefusal(why)
    if (why === null) onReviewed?.()
  }
  const overturn = async () => {
    if (busy || text.trim() === '') {
      acts.current?.querySelector('textarea')?.focus()
      return
    }
    setBusy(true)
    const outcome = await overturnAssumption(client, id, text, isOver)
    setBusy(false)
    if ('refusal' in outcome) return setRefusal(outcome.refusal)
    keepDraft(`overturn.${id}`, '')
    onWrites(false)
    if (outcome.newTicket !== null) setBecame(outcome.newTicket)
    onReviewed?.()
  }
  if (became !== null) return <BecameTicket ticket={became} />
  return (
    <div ref={acts} className="q-form">
      {writes ? (
        <WordBox
          label="What holds instead"
          placeholder="What holds instead: the agent reads it"
          value={text}
          disabled={busy}
          takesFocus
          onChange={(value) => keepDraft(`overturn.${id}`, value)}
          onSend={() => void overturn()}
          onBack={() => onWrites(false)}
        />
      ) : null}
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      <div className="q-acts">
        {writes ? (
          <>
            <button type="button" className="btn btn-main" onClick={() => void overturn()}>
              {isOver ? 'Overturn with a new ticket' : 'Overturn'} <Key keys="Enter" />
            </button>
            <button type="button" className="btn" onClick={() => onWrites(false)}>
              Back <Key keys="Escape" />
            </button>
          </>
        ) : (
          <>
            <button
              type="button"
              className={keyed ? 'btn btn-main' : 'btn'}
              data-act="confirm"
              onClick={() => void confirm()}
            >
              Confirm {keyed ? <Key keys="Enter" /> : null}
            </button>
            <button type="button" className="btn" onClick={() => onWrites(true)}>
              Overturn… {keyed ? <Key keys="O" /> : null}
            </button>
          </>
        )}
        {writes && isOver ? (
          <span className="form-help">The session is over: the correction becomes a ticket.</span>
        ) : null}
      </div>
    </div>
  )
}

/** An assumption that a person looks over. */
export function AssumptionCard({
  assumption,
  onReviewed,
}: {
  assumption: Assumption
  onReviewed?: () => void
}) {
  const [writes, setWrites] = useState(false)
  const card = useRef<HTMLElement>(null)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.target !== event.currentTarget || event.repeat) return
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    if (event.key === 'Enter') {
      if (!jumps.isUnread(assumption.id)) {
        card.current?.querySelector<HTMLElement>('[data-act="confirm"]')?.click()
      }
    } else if (event.key.toLowerCase() === 'o') setWrites(true)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <section
      ref={card}
      className="q q-plain"
      aria-label="Assumption"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys answer while it has the focus
      tabIndex={0}
      data-question={assumption.id}
      onKeyDown={onKeyDown}
    >
      <div className="q-head">
        <span className="q-key">Assumed</span>
      </div>
      <Assumed assumption={assumption} />
      <AssumptionActs
        assumption={assumption}
        onReviewed={onReviewed}
        keyed
        writes={writes}
        onWrites={(next) => {
          setWrites(next)
          if (!next) card.current?.focus()
        }}
      />
    </section>
  )
}
