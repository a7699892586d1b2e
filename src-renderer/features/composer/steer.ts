import { v7 as uuidv7 } from 'uuid'
import type { CommandId, InputId, SessionId } from '../../../src-shared/ids.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { addOutgoing, dropOutgoing, idForText, keepFailed } from '../../stores/outgoing.ts'
import { type Client, refusalOf } from '../../sync/client.ts'

const newInput = () => uuidv7() as InputId
export const newCommand = () => uuidv7() as CommandId

/**
 * Gives a message to a session; with `interrupts` it stops the running turn and is delivered next.
 * The answer is why it could not be given; the same text sent again is then the same input.
 */
export async function give(
  client: Client,
  session: SessionId,
  text: string,
  interrupts: boolean,
): Promise<Refusal | null> {
  const id = idForText(session, text, newInput)
  addOutgoing({ id, session, text, interrupts })
  try {
    if (interrupts) await client.sessions.interrupt({ ref: session, text, input: id })
    else await client.sessions.send({ ref: session, text, input: id })
    return null
  } catch (error) {
    keepFailed(session, text, id)
    return refusalOf(error)
  } finally {
    dropOutgoing(id)
  }
}

/** Stops the running turn. */
export async function interrupt(client: Client, session: SessionId): Promise<Refusal | null> {
  try {
    await client.sessions.interrupt({ ref: session, commandId: newCommand() })
    return null
  } catch (error) {
    return refusalOf(error)
  }
}
