import { useEffect, useState } from 'react'
import type { Assumption } from '../../../src-shared/questions.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { AgentText } from '../../text/agent-text.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { timeOfDay } from '../../ui/words.ts'
import { Assumed, AssumptionActs } from '../inbox/assumption-card.tsx'
import { attempt } from '../session/actions.ts'

function Entry({ assumption, onReviewed }: { assumption: Assumption; onReviewed: () => void }) {
  const [writes, setWrites] = useState(false)
  const { state, text, reviewedAt } = assumption
  return (
    <li className="q q-over">
      <Assumed assumption={assumption} />
      {state === 'open' ? (
        <AssumptionActs
          assumption={assumption}
          keyed={false}
          writes={writes}
          onWrites={setWrites}
          onReviewed={onReviewed}
        />
      ) : (
        <div className="q-answer">
          <p className="q-answer-head">
            <StateDot look={state === 'confirmed' ? 'done' : 'gone'} />
            <span className="grow">
              {state === 'confirmed' ? 'Confirmed' : 'Overturned'} by you
            </span>
            {reviewedAt === null ? null : <span>{timeOfDay(reviewedAt)}</span>}
          </p>
          {text === null ? null : <AgentText text={text} className="q-answer-text" />}
        </div>
      )}
    </li>
  )
}

/** Every decision that agents took themselves for a ticket, with its reason; asked again when one changed. */
export function TicketAssumptions({ ticket }: { ticket: string }) {
  const client = useClient()
  const open = useRecords((records) => records.assumptions)
  const [all, setAll] = useState<readonly Assumption[]>([])
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what changed says that it is to be asked again
  useEffect(() => {
    let isCurrent = true
    void attempt(() => client.assumptions.list({ ticket })).then((outcome) => {
      if (!isCurrent) return
      if (outcome.ok) {
        setAll(outcome.value)
        setRefusal(null)
      } else setRefusal(outcome.refusal)
    })
    return () => {
      isCurrent = false
    }
  }, [client, ticket, open, round])
  const again = () => setRound((before) => before + 1)
  if (refusal !== null) return <RefusalNote refusal={refusal} onRetry={again} />
  if (all.length === 0) return null
  const left = all.filter(({ state }) => state === 'open').length
  return (
    <section className="page-body">
      <h3>
        Assumptions{' '}
        <span className="faint">
          {all.length}
          {left === 0 ? '' : `, ${left} to look over`}
        </span>
      </h3>
      <ul className="assumed-list">
        {all.map((assumption) => (
          <Entry key={assumption.id} assumption={assumption} onReviewed={again} />
        ))}
      </ul>
    </section>
  )
}
