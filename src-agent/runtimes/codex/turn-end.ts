import type { TurnEndReason } from '../../../src-shared/timeline.ts'
import type { TurnEnd } from '../turn-end.ts'
import type { Turn, TurnError } from './protocol.ts'

export const LOG_IN_HINT =
  'Run `codex login` in a terminal, or name another model provider in the config.toml of Codex; then send a message.'

export const GO_ON_HINT = 'Send a message: the same conversation goes on.'

/** Why a turn ended, and what a person can do about it. `ended`: the driver itself ended it, for this reason. */
export function turnEndOf(turn: Turn, ended: TurnEnd | null): TurnEnd {
  if (ended !== null) return ended
  if (turn.status === 'interrupted') return { reason: 'interrupted' }
  if (turn.status !== 'failed') return { reason: 'completed' }
  return endOfError(turn.error ?? null)
}

function endOfError(error: TurnError | null): TurnEnd {
  if (error === null)
    return { reason: 'failed', detail: 'Codex does not say why.', hint: GO_ON_HINT }
  const detail = describeError(error)
  const { word, status } = errorInfo(error)
  if (status === 401 || word === 'unauthorized') {
    return { reason: 'failed', detail, hint: LOG_IN_HINT }
  }
  const variable = /^Missing environment variable: `(\w+)`/.exec(detail)?.[1]
  if (variable !== undefined) return { reason: 'failed', detail, hint: keyHint(variable) }
  const known = HINTS[word]
  return known === undefined
    ? { reason: 'failed', detail, hint: 'Send a message to try again.' }
    : { detail, ...known }
}

/** The provider of the config.toml has its key there. */
const keyHint = (variable: string) =>
  `Set ${variable} in the environment of the project, or name it in the setting passEnv where your login shell has it; then stop and start the session.`

const USED_UP =
  'The limit of the account is used up: wait until it is renewed, or use another login.'

const HINTS: Readonly<Record<string, { reason: TurnEndReason; hint: string }>> = {
  usageLimitExceeded: { reason: 'limit', hint: USED_UP },
  sessionBudgetExceeded: { reason: 'limit', hint: USED_UP },
  contextWindowExceeded: {
    reason: 'failed',
    hint: 'The conversation is too long for the model: let the session go on with another model, or begin a new one.',
  },
  modelNotFound: { reason: 'failed', hint: 'Check the model in the settings of the project.' },
  badRequest: { reason: 'failed', hint: 'Check the model in the settings of the project.' },
}

/** What went wrong, in the words of Codex and of the provider. */
export function describeError({ message, additionalDetails }: TurnError): string {
  return [message, additionalDetails ?? ''].filter((part) => part !== '').join('\n')
}

/** The word of an error, and the HTTP status where it has one. */
export function errorInfo({ codexErrorInfo: info }: TurnError): {
  word: string
  status: number | null
} {
  if (typeof info === 'string') return { word: info, status: null }
  if (typeof info !== 'object' || info === null) return { word: 'other', status: null }
  const [word = 'other', facts] = Object.entries(info)[0] ?? []
  const status: unknown =
    typeof facts === 'object' && facts !== null && 'httpStatusCode' in facts
      ? facts.httpStatusCode
      : null
  return { word, status: typeof status === 'number' ? status : null }
}
