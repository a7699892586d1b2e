import type { TurnEnd } from '../turn-end.ts'
import type { RuntimeError } from './wire.ts'

export const LOG_IN_HINT =
  'Run `opencode auth login` in a terminal, or set the key of the provider in the environment of the project; then send a message.'

const TRY_AGAIN = 'wait a little, then send a message to try again.'

/** Why a turn ended that nobody interrupted, and what a person can do about it. */
export function turnEndOf(error: RuntimeError | undefined): TurnEnd {
  if (error === undefined) return { reason: 'completed' }
  if (error.name === 'MessageAbortedError') return { reason: 'interrupted' }
  const detail = messageOf(error)
  if (error.name === 'MessageOutputLengthError') {
    return { reason: 'limit', detail, hint: 'Send a message to let it go on.' }
  }
  return { reason: 'failed', detail, hint: hintFor(error, detail) }
}

export function messageOf(error: RuntimeError): string {
  const text = withoutStack(error.data?.message ?? '')
  const status = error.data?.statusCode
  const said =
    text === '' ? `opencode ended the turn with ${error.name} and said nothing more.` : text
  return status === undefined || said.includes(String(status)) ? said : `${said} (${status})`
}

/** Errors inside of opencode come with their class and with where in the program they happened. */
function withoutStack(message: string): string {
  const lines = message.split('\n').filter((line) => !/^\s+at .+:\d+:\d+\)?$/.test(line))
  return lines
    .join('\n')
    .replace(/^[A-Z]\w*Error: /, '')
    .trim()
}

function hintFor({ name, data }: RuntimeError, detail: string): string {
  if (name === 'ProviderAuthError' || data?.statusCode === 401 || /api key/i.test(detail)) {
    return LOG_IN_HINT
  }
  if (name === 'ContextOverflowError' || data?.statusCode === 413) {
    return 'The conversation is too long for the model: send a shorter message, or choose a model with a larger context.'
  }
  if (/^Model not found/.test(detail)) {
    return 'Choose a model in the project as `provider/model`: `opencode models` lists them.'
  }
  switch (data?.statusCode) {
    case 400:
      return 'The model provider refused the request: read its message; a new session on the ticket starts without this conversation.'
    case 402:
      return 'The account of the provider has no credit left: add some, or use another login.'
    case 403:
      return 'The login may not use this model: choose another model in the project, or use another login.'
    case 404:
      return 'The model is not known to the provider: choose another model in the project.'
    case 429:
      return `The provider limits how much you may ask: ${TRY_AGAIN}`
    case undefined:
      return 'Check the network and the address of the model provider, then send a message to try again.'
    default:
      return `The model provider has a problem: ${TRY_AGAIN}`
  }
}
