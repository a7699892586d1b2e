import type { Instant } from '../../src-shared/ids.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { SessionRow } from '../storage/rows.ts'
import type { SessionDraft } from './session-draft.ts'
import type { SaidOfSession } from './standing-reason.ts'

const FINISHING: SaidOfSession = [
  'is being finished: its work is committed and pushed',
  'Where the push takes too long: stop the session, and finish it later.',
]

const STOPPING: SaidOfSession = [
  'is being stopped: its last work is pushed, its workspace stays',
  'It is stopped in any case, also where the push fails. Where the push takes too long: stop it again.',
]

/** A person does not want to wait for the push. */
const STOPPING_NOW: SaidOfSession = [
  'is being stopped at once: what is not pushed by now stays in its workspace',
  'It is stopped in a moment; its workspace stays.',
]

/** Until the agent says that it has given up the finish. */
const STOPPING_FINISH: SaidOfSession = [
  'is being stopped while it was being finished: a push that is not done is ended',
  STOPPING[1],
]

type Asked = Pick<SessionRow, 'pending' | 'reason'>

/** Whether the agent may finish the session yet: what came now would be lost with it. */
export function mayBeFinished({ pending, reason }: Asked): boolean {
  return pending === 'finish' || (pending === 'stop' && reason === STOPPING_FINISH[0])
}

/** Says of a session that its agent was told to finish or stop it, for as long as that takes. */
export function sayUnderWay(draft: SessionDraft): void {
  const { leaseId, pending, state, reason } = draft.session
  if (leaseId === null || (pending !== 'finish' && pending !== 'stop')) return
  const words = pending === 'finish' ? FINISHING : STOPPING
  if ([words[0], STOPPING_FINISH[0], STOPPING_NOW[0]].includes(reason)) return
  draft.move(state, ...words)
}

/** Says that the session is stopped now, also where it was being finished. */
export function sayStopping(draft: SessionDraft, wasFinishing: boolean): void {
  draft.move(draft.session.state, ...(wasFinishing ? STOPPING_FINISH : STOPPING))
}

/** Says that nothing is waited for any more. False: that was said already. */
export function sayStoppingNow(draft: SessionDraft): boolean {
  const { state, reason } = draft.session
  if (reason === STOPPING_NOW[0]) return false
  // Until a finish is given up, no message is taken.
  if (reason !== STOPPING_FINISH[0]) draft.move(state, ...STOPPING_NOW)
  return true
}

/** The agent goes on with the stop that took the place of a finish. */
export function giveUpFinish(draft: SessionDraft, { message }: Refusal, at: Instant): void {
  const text = `It is stopped and not finished. ${message}`
  draft.event({ kind: 'notice', level: 'info', code: 'finish.stopped', text }, at)
  draft.move(draft.session.state, ...STOPPING)
}
