import type { TurnEnd } from '../turn-end.ts'
import type { ResultLine } from './lines.ts'

export const LOG_IN_HINT =
  'Run `claude` in a terminal and type /login, or set ANTHROPIC_API_KEY in the environment of the project; then send a message.'

/** What the driver knows of the turn beside its result. */
export type TurnFacts = {
  /** The driver itself ended the turn, for this reason. */
  ended: TurnEnd | null
  /** A limit of the account is used up until this moment (ISO 8601), or until nobody knows when. */
  limitUntil: string | null | undefined
}

/** Why a turn ended, and what a person can do about it. `is_error` decides: `subtype` says success for failures too. */
export function turnEndOf(result: ResultLine, facts: TurnFacts): TurnEnd {
  if (facts.ended !== null) return facts.ended
  if (result.terminal_reason?.startsWith('aborted') === true) return { reason: 'interrupted' }
  if (result.is_error !== true) return { reason: 'completed' }
  const detail = describe(result)
  if (facts.limitUntil !== undefined) {
    return {
      reason: 'limit',
      detail,
      hint:
        facts.limitUntil === null
          ? 'The limit of the account is used up: wait until it is renewed, or use another login.'
          : `The limit of the account is used up until ${facts.limitUntil}: send a message after that, or use another login.`,
    }
  }
  if (result.subtype === 'error_max_turns') {
    return { reason: 'limit', detail, hint: 'Send a message to let it go on.' }
  }
  if (result.subtype === 'error_max_budget_usd') {
    return {
      reason: 'limit',
      detail,
      hint: 'Raise --max-budget-usd in the runtime arguments of the project, then send a message.',
    }
  }
  return { reason: 'failed', detail, hint: hintFor(result, detail) }
}

function describe(result: ResultLine): string {
  const text = result.result ?? result.errors?.join('\n') ?? ''
  if (text.trim() !== '') return text.trim()
  return `Claude Code ended the turn with ${result.subtype} and said nothing more.`
}

function hintFor(result: ResultLine, detail: string): string {
  const status = result.api_error_status ?? null
  if (status === 401 || /not logged in|\/login/i.test(detail)) return LOG_IN_HINT
  if (result.terminal_reason === 'prompt_too_long' || status === 413) {
    return 'The conversation is too long for the model: send a shorter message, or choose a model with a larger context.'
  }
  switch (status) {
    case 400:
      return 'The model provider refused the request: read its message; a new session on the ticket starts without this conversation.'
    case 403:
      return 'The login may not use this model: choose another model in the project, or use another login.'
    case 404:
      return 'The model is not known to the provider: choose another model in the project.'
    case 429:
      return 'The provider limits how much you may ask: wait a little, then send a message to try again.'
    case null:
      return 'Check the network and the address of the model provider, then send a message to try again.'
    default:
      return 'The model provider has a problem: wait a little, then send a message to try again.'
  }
}
