import { z } from 'zod'
import type { TurnEnd } from '../turn-end.ts'
import type { AgentError } from './connection.ts'

/** Of JSON-RPC errors: the agent wants a login first. */
export const AUTH_REQUIRED = -32_000

/** Of JSON-RPC errors, with a login that is missing: the request was refused before anything was done about it. */
const NOT_TAKEN = new Set([AUTH_REQUIRED, -32_700, -32_600, -32_601, -32_602])

/** Whether an agent that gave no other sign of a message did not take it. */
export function isNotTaken({ code }: AgentError): boolean {
  return NOT_TAKEN.has(code)
}

const Answer = z.looseObject({ stopReason: z.string() })

/** Why a turn ended, by the answer to its prompt; `title` is what people call the agent. */
export function turnEndOf(answer: unknown, title: string): TurnEnd {
  const { success, data } = Answer.safeParse(answer)
  if (!success) {
    const detail = `${title} ended the turn and did not say why.`
    return { reason: 'failed', detail, hint: 'Send a message to let it go on.' }
  }
  switch (data.stopReason) {
    case 'end_turn':
      return { reason: 'completed' }
    case 'cancelled':
      return { reason: 'interrupted' }
    case 'max_tokens':
      return {
        reason: 'limit',
        detail: 'The model reached the limit of tokens of one answer.',
        hint: 'Send a message to let it go on.',
      }
    case 'max_turn_requests':
      return {
        reason: 'limit',
        detail: `${title} reached its limit of model requests in one turn.`,
        hint: 'Send a message to let it go on.',
      }
    case 'refusal':
      return {
        reason: 'failed',
        detail: 'The model refused to go on.',
        hint: 'Say it in another way, or choose another model in the project.',
      }
    default:
      return { reason: 'completed' }
  }
}

/** Why a turn failed whose prompt was answered with an error. */
export function turnFailureOf(error: AgentError, title: string, loginHint: string): TurnEnd {
  const detail = detailOf(error, title)
  if (error.code === AUTH_REQUIRED) return { reason: 'failed', detail, hint: loginHint }
  return { reason: 'failed', detail, hint: hintFor(detail, loginHint) }
}

/** What an agent says of an error; some put the cause into its data. */
export function detailOf({ message, data }: AgentError, title: string): string {
  const said = typeof data === 'string' ? data : DataText.safeParse(data).data
  const text = message.trim() === '' ? `${title} gave an error without a message.` : message.trim()
  return said === undefined || said === '' || text.includes(said) ? text : `${text}: ${said}`
}

const DataText = z
  .looseObject({ details: z.string().optional(), message: z.string().optional() })
  .transform(({ details, message }) => details ?? message ?? '')

function hintFor(detail: string, loginHint: string): string {
  if (/\b401\b|api[- ]key|unauthori[sz]ed|not logged in|authenticat/i.test(detail)) return loginHint
  if (/\b429\b|rate.?limit|quota/i.test(detail)) {
    return 'The provider limits how much you may ask: wait a little, then send a message to try again.'
  }
  if (/too long|context.{0,10}(?:length|window)/i.test(detail)) {
    return 'The conversation is too long for the model: send a shorter message, or choose a model with a larger context.'
  }
  if (/model.{0,20}not found|unknown model/i.test(detail)) {
    return 'The model is not known to the provider: choose another model in the project.'
  }
  return 'Check the network and the model provider, then send a message to try again.'
}
