import type { QuestionId, RequestId, SessionId } from '../../src-shared/ids.ts'
import type { NotificationKind } from '../../src-shared/records.ts'

/** What a person is asked. */
export type Askable = QuestionId | RequestId

/** One notification, whoever shows it. Its texts are plain, in one line each, and of a bounded length. */
export type Notice = {
  /** Names the thing that it is about: there is at most one notification of it. */
  key: string
  kind: NotificationKind
  session: SessionId
  /** What a click opens the answer window of; null: a click opens the session. */
  asks: Askable | null
  title: string
  body: string
  /** At most three, the most that services show; `name` is what `readAction` reads. */
  buttons: readonly { name: string; label: string }[]
  /** Free text is an answer. */
  reply: boolean
  urgency: 'low' | 'normal'
  /** It waits for an answer, and stays until there is one. */
  waits: boolean
}
