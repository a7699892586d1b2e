import type { RequestId } from '../../../src-shared/ids.ts'
import type { Request, RequestOutcome } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { Client } from '../../sync/client.ts'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'

export type Answer =
  | { outcome: 'allow' }
  | { outcome: 'allow-for-session' }
  | { outcome: 'deny'; text: string }

/** Gives the answer to the host; what comes back is why it could not be given. */
export async function answerRequest(
  client: Client,
  request: string,
  answer: Answer,
): Promise<Refusal | null> {
  const command = { ref: request as RequestId, commandId: newCommand() }
  const outcome = await attempt<Request>(() => {
    if (answer.outcome !== 'deny') {
      const forSession = answer.outcome === 'allow-for-session'
      return client.requests.allow({ ...command, forSession })
    }
    const text = answer.text.trim()
    return client.requests.deny(text === '' ? command : { ...command, text })
  })
  return outcome.ok ? null : outcome.refusal
}

/** Somebody else was first, or the runtime asks no more: the request itself shows what it came to. */
export const isOverAlready = ({ code }: Refusal): boolean =>
  code.startsWith('request.') && code !== 'request.not-found'

export type RequestAct = 'allow' | 'allow-for-session' | 'deny' | null

type KeyPress = {
  key: string
  shiftKey: boolean
  altKey: boolean
  ctrlKey: boolean
  metaKey: boolean
}

/** What a key does on a request that has the focus. */
export function requestAct(press: KeyPress): RequestAct {
  if (press.altKey || press.ctrlKey || press.metaKey || press.shiftKey) return null
  switch (press.key.toLowerCase()) {
    case 'enter':
      return 'allow'
    case 's':
      return 'allow-for-session'
    case 'd':
      return 'deny'
    default:
      return null
  }
}

const words: Record<RequestOutcome, string> = {
  allowed: 'allowed once',
  'allowed-for-session': 'allowed for this session',
  denied: 'denied',
  withdrawn: 'withdrawn',
}

export const outcomeWord = (outcome: RequestOutcome): string => words[outcome]
