import { createHash } from 'node:crypto'
import { CommandId, QuestionId, RequestId } from '../../src-shared/ids.ts'

/** What a button, a reply or a click of a notification does; each names the thing that it is about. */
export type Action =
  | { do: 'option'; question: QuestionId; option: number }
  | { do: 'reply'; question: QuestionId; text: string }
  | { do: 'allow' | 'deny'; request: RequestId }

const OPTION = /^option-([1-9][0-9]?)$/

/** The name under which a notification service hands a button back: `option-2:<question id>`. */
export const optionName = (question: QuestionId, option: number): string =>
  `option-${option}:${question}`
export const allowName = (request: RequestId): string => `allow:${request}`
export const denyName = (request: RequestId): string => `deny:${request}`

/** What the name of a button means; undefined where it is none of Ballet's. */
export function readAction(name: string): Action | undefined {
  const colon = name.indexOf(':')
  const word = name.slice(0, colon)
  const id = name.slice(colon + 1)
  if (word === 'allow' || word === 'deny') {
    const request = RequestId.safeParse(id)
    return request.success ? { do: word, request: request.data } : undefined
  }
  const option = OPTION.exec(word)?.[1]
  const question = QuestionId.safeParse(id)
  if (option === undefined || !question.success) return undefined
  return { do: 'option', question: question.data, option: Number(option) }
}

/** The same for the same action, however often and through whatever notification it comes: it acts once. */
export function commandOf(action: Action): CommandId {
  const digest = createHash('sha256')
    .update(JSON.stringify(parts(action)))
    .digest('hex')
  // The form of a UUID of version 8, whose bits are free.
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return CommandId.parse(
    [
      digest.slice(0, 8),
      digest.slice(8, 12),
      `8${digest.slice(13, 16)}`,
      `${variant}${digest.slice(17, 20)}`,
      digest.slice(20, 32),
    ].join('-'),
  )
}

function parts(action: Action): readonly string[] {
  switch (action.do) {
    case 'option':
      return [action.do, action.question, String(action.option)]
    case 'reply':
      return [action.do, action.question, action.text]
    default:
      return [action.do, action.request]
  }
}
