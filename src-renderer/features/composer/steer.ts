import { v7 as uuidv7 } from 'uuid'
import type { SentInput } from '../../../src-shared/contract.ts'
import type { CommandId, InputId, SessionId } from '../../../src-shared/ids.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { addOutgoing, dropOutgoing, idForText, keepFailed } from '../../stores/outgoing.ts'
import { type Client, refusalOf } from '../../sync/client.ts'
import type { DraftImage } from './images.ts'

const newInput = () => uuidv7() as InputId
export const newCommand = () => uuidv7() as CommandId

/**
 * How a message is given: after the running turn, into it after the current tool call, or next after the turn was
 * stopped for it.
 */
export type Manner = 'queue' | 'steer' | 'interrupt'

/** `given`: the host has it; a refusal then tells that it is queued and not steered. */
export type Given = { given: boolean; refusal: Refusal | null }

type Message = { session: SessionId; text: string; images: readonly DraftImage[]; input: InputId }

function send(client: Client, { session, text, images, input }: Message, steer: boolean) {
  return client.sessions.send({
    ref: session,
    text,
    input,
    ...(steer ? { steer } : {}),
    ...(images.length === 0
      ? {}
      : { images: images.map(({ mediaType, data }) => ({ mediaType, data })) }),
  })
}

async function giveIn(client: Client, message: Message, manner: Manner): Promise<Refusal | null> {
  const { session, text, images, input } = message
  if (manner !== 'interrupt') {
    const sent: SentInput = await send(client, message, manner === 'steer')
    return sent.notSteered ?? null
  }
  if (images.length === 0) {
    await client.sessions.interrupt({ ref: session, text, input })
    return null
  }
  // An interrupt carries no images; what is queued comes next after it.
  await send(client, message, false)
  await client.sessions.interrupt({ ref: session, commandId: newCommand() })
  return null
}

/** Gives a message to a session. One that failed keeps its id: given again it is the same input. */
export async function give(
  client: Client,
  session: SessionId,
  text: string,
  manner: Manner,
  images: readonly DraftImage[] = [],
): Promise<Given> {
  const content = [text, ...images.map((image) => image.id)].join('\n')
  const input = idForText(session, content, newInput)
  addOutgoing({ id: input, session, text, images, interrupts: manner === 'interrupt' })
  try {
    const refusal = await giveIn(client, { session, text, images, input }, manner)
    return { given: true, refusal }
  } catch (error) {
    keepFailed(session, content, input)
    return { given: false, refusal: refusalOf(error) }
  } finally {
    dropOutgoing(input)
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
