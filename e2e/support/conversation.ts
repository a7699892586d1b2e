import { textsOf, wholeText } from '../model/messages.ts'
import type { RecordedRequest } from '../model/record.ts'
import type { ModelServer } from '../model/server.ts'

/** What the model was asked in one conversation, oldest first, without side requests such as titles. */
export function requestsOf(model: ModelServer, conversation: string | null): RecordedRequest[] {
  return model.requestsFor(
    ({ session, step }) =>
      session === conversation && step !== undefined && step.script !== 'no-tools',
  )
}

/** Everything that the model saw in a request: texts, tool calls and results. */
export function seenIn(request: RecordedRequest | undefined): string {
  return wholeText(request?.messages)
}

/** How often a text was said by the user in the conversation that a request holds. */
export function timesSaid(request: RecordedRequest | undefined, text: string): number {
  const said = (request?.messages ?? [])
    .filter((message) => message.role === 'user')
    .flatMap((message) => textsOf(message))
    .join('\n')
  return said.split(text).length - 1
}
