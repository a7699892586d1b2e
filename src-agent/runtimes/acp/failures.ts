import { BalletError } from '../../../src-shared/refusal.ts'

export function startFailed(title: string, why: string): BalletError {
  return new BalletError({
    code: 'runtime.start-failed',
    message: `${title} did not get ready: ${why}`,
    hint: 'Run it in a terminal in the same folder to see whether it works there, then try again.',
  })
}

export function conversationLost(why: string): BalletError {
  return new BalletError({
    code: 'runtime.conversation-lost',
    message: `The conversation cannot be resumed: ${why}`,
    hint: 'The workspace is kept. Start the ticket again: a new conversation goes on with the work as it is.',
  })
}
