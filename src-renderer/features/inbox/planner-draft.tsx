import type { SessionId } from '../../../src-shared/ids.ts'
import type { PlannerDraft } from '../../../src-shared/questions.ts'
import { AgentText } from '../../text/agent-text.tsx'
import { showControls } from '../../text/controls.ts'
import { Citations } from './citations.tsx'

/** What the planner came to and did not send, beside the question; a line where that is only a reason. */
export function Draft({
  draft,
  session,
  onTake,
}: {
  draft: PlannerDraft
  session: SessionId
  /** Puts the draft into the answer that the person writes. */
  onTake: ((text: string) => void) | undefined
}) {
  const { answer, citations, reason } = draft
  if (answer === null && citations.length === 0) {
    return <p className="q-hint">No answer by the planner: {showControls(reason.slice(0, 600))}</p>
  }
  return (
    <section className="q-draft" aria-label="The planner’s draft">
      <p className="q-draft-head">
        <span className="grow">
          <b>{answer === null ? 'Planner: no answer' : 'Planner’s draft, not sent'}</b>
          {reason === '' ? null : ` · ${showControls(reason.slice(0, 600))}`}
        </span>
        {answer === null || onTake === undefined ? null : (
          <button type="button" className="btn-quiet" onClick={() => onTake(answer)}>
            Use it
          </button>
        )}
      </p>
      {answer === null ? null : <AgentText text={answer} />}
      <Citations citations={citations} session={session} />
    </section>
  )
}
