import type { InputId } from '../../../src-shared/ids.ts'
import type { Input } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { Client } from '../../sync/client.ts'
import { attempt } from '../session/actions.ts'
import { newCommand } from './steer.ts'

/** The queued inputs of a session in the order in which they will be delivered. */
export function queueOf(inputs: ReadonlyMap<string, Input>, session: string): Input[] {
  const queue: Input[] = []
  for (const input of inputs.values()) {
    if (input.session === session && input.state === 'queued') queue.push(input)
  }
  return queue.sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1))
}

/**
 * Before which input one goes when it is to stand at `to` of the queue (counted without it): null is the end.
 * Undefined when it stands there already.
 */
export function placeAt(
  queue: readonly { id: string }[],
  moved: string,
  to: number,
): string | null | undefined {
  const from = queue.findIndex(({ id }) => id === moved)
  const others = queue.filter(({ id }) => id !== moved)
  const place = Math.max(0, Math.min(others.length, to))
  if (from === -1 || place === from) return undefined
  return others[place]?.id ?? null
}

const refusalOr = async (call: () => Promise<unknown>): Promise<Refusal | null> => {
  const outcome = await attempt(call)
  return outcome.ok ? null : outcome.refusal
}

const command = (ref: string) => ({ ref: ref as InputId, commandId: newCommand() })

export const editInput = (client: Client, id: string, text: string) =>
  refusalOr(() => client.inputs.edit({ ...command(id), text }))

export const cancelInput = (client: Client, id: string) =>
  refusalOr(() => client.inputs.cancel(command(id)))

export const moveInput = (client: Client, id: string, before: string | null) =>
  refusalOr(() => client.inputs.move({ ...command(id), before: before as InputId | null }))

export const steerInput = (client: Client, id: string) =>
  refusalOr(() => client.inputs.steer(command(id)))
