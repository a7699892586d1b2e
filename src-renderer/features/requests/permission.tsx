import type { SessionId } from '../../../src-shared/ids.ts'
import type { Asked } from '../../sync/rows.ts'
import { showControls } from '../../text/controls.ts'
import { cutLines } from '../../text/lines.ts'
import { StateDot } from '../../ui/state-dot.tsx'
import { authorWord, fullTime, timeOfDay } from '../../ui/words.ts'
import { outcomeWord } from './answers.ts'
import { RequestCard } from './request-card.tsx'
import type { Asking } from './wanted.ts'

const known = new WeakMap<Asked['asked'], Asking>()

function askingOf({ asked }: Asked): Asking {
  const before = known.get(asked)
  if (before !== undefined) return before
  const { request, name, toolKind, title, input, inputBlob } = asked
  const made = { id: request, name: name ?? toolKind, toolKind, title, input, inputBlob }
  known.set(asked, made)
  return made
}

/** How a request ended, and who ended it. */
export function AnswerLine({ answer }: { answer: NonNullable<Asked['answer']> }) {
  const { outcome, author, text, at } = answer
  const allowed = outcome === 'allowed' || outcome === 'allowed-for-session'
  return (
    <p className="ask-answer" title={fullTime(at)}>
      <StateDot look={allowed ? 'done' : 'gone'} />
      <span className="grow">
        {outcomeWord(outcome)} by {authorWord(author)}
        {text === undefined ? null : `: ${showControls(cutLines(text))}`}
      </span>
      <span>{timeOfDay(at)}</span>
    </p>
  )
}

/** A permission at the call that needed it: open with what can be answered, or what it came to. */
export function Permission({
  permission,
  session,
  headed,
}: {
  permission: Asked
  session: SessionId
  headed: boolean
}) {
  if (permission.answer !== null && headed) return <AnswerLine answer={permission.answer} />
  if (permission.answer === null) {
    return <RequestCard asking={askingOf(permission)} session={session} headed={headed} />
  }
  const { name, toolKind, title } = permission.asked
  return (
    <div className="ask-over">
      <code className="clip">
        {name ?? toolKind} {showControls(title.slice(0, 300))}
      </code>
      <AnswerLine answer={permission.answer} />
    </div>
  )
}
