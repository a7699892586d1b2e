import { useEffect, useMemo, useState } from 'react'
import type { InboxItem } from '../../../src-shared/inbox.ts'
import type { Question } from '../../../src-shared/questions.ts'
import type { Request } from '../../../src-shared/records.ts'
import { useMinutes } from '../../stores/clock.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords, useSession } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { StateDot, sessionLook, sessionWord } from '../../ui/state-dot.tsx'
import { age, fullTime } from '../../ui/words.ts'
import { RequestCard } from '../requests/request-card.tsx'
import { attempt } from '../session/actions.ts'
import { ParkButtons, ParksIn } from '../session/parks-in.tsx'
import { AssumptionCard } from './assumption-card.tsx'
import { OverQuestion } from './over-question.tsx'
import { QuestionCard } from './question-card.tsx'
import { SessionTail } from './session-tail.tsx'
import { WaitingCard } from './waiting-card.tsx'

/** Whose it is, how that session is, and how long it waits. */
export function ItemFacts({ item, onOpen }: { item: InboxItem; onOpen: () => void }) {
  const session = useSession(item.session)
  const since = age(useMinutes() - Date.parse(item.since))
  return (
    <div className="page-facts item-facts">
      <button type="button" className="btn-link clip" onClick={onOpen}>
        {item.ticket} {showControls(session?.title ?? '')}
      </button>
      <Key keys="E" />
      <span>{showControls(item.project)}</span>
      {session === undefined ? null : (
        <span>
          <StateDot look={sessionLook(session)} /> {sessionWord(session)}
        </span>
      )}
      <span title={fullTime(item.since)}>{since === 'now' ? 'just now' : `waits ${since}`}</span>
      {item.parkAt === null || session === undefined ? null : (
        <>
          <ParksIn at={item.parkAt} />
          <ParkButtons session={session} />
        </>
      )}
    </div>
  )
}

function RequestItem({ request, onAnswered }: { request: Request; onAnswered: () => void }) {
  const { id, name, toolKind, title, input, inputBlob } = request
  const asking = useMemo(
    () => ({ id, name, toolKind, title, input, inputBlob: inputBlob ?? undefined }),
    [id, name, toolKind, title, input, inputBlob],
  )
  return (
    <RequestCard asking={asking} session={request.session} headed={false} onAnswered={onAnswered} />
  )
}

/** A question that somebody else ended while it was looked at. */
function EndedMeanwhile({ id }: { id: string }) {
  const client = useClient()
  const [question, setQuestion] = useState<Question | null>(null)
  useEffect(() => {
    let isShown = true
    void attempt(() => client.questions.show({ ref: id })).then((outcome) => {
      if (isShown && outcome.ok) setQuestion(outcome.value)
    })
    return () => {
      isShown = false
    }
  }, [client, id])
  return question === null ? null : <OverQuestion question={question} />
}

/** Everything that is needed to decide one item, and its answer. */
export function ItemCard({ item, onAnswered }: { item: InboxItem; onAnswered: () => void }) {
  const question = useRecords(({ questions }) => questions.get(item.id))
  const request = useRecords(({ requests }) => requests.get(item.id))
  const assumption = useRecords(({ assumptions }) => assumptions.get(item.id))
  const session = useSession(item.session)
  switch (item.kind) {
    case 'question':
      if (question === undefined) return <EndedMeanwhile id={item.id} />
      return (
        <>
          <QuestionCard question={question} onAnswered={onAnswered} />
          <h4 className="item-tail">Last lines of the session</h4>
          <SessionTail session={item.session} />
        </>
      )
    case 'request':
      return request === undefined ? null : (
        <RequestItem request={request} onAnswered={onAnswered} />
      )
    case 'assumption':
      return assumption === undefined ? null : (
        <AssumptionCard assumption={assumption} onReviewed={onAnswered} />
      )
    case 'waiting':
    case 'failed':
      return session === undefined ? null : (
        <WaitingCard session={session} onAnswered={onAnswered} />
      )
  }
}
