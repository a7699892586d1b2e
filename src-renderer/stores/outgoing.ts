import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import type { InputId } from '../../src-shared/ids.ts'

/** An input that was given here and that the host has not confirmed yet. */
export type Outgoing = {
  id: InputId
  session: string
  text: string
  images: readonly unknown[]
  interrupts: boolean
}

type State = { inputs: readonly Outgoing[] }

const store = createStore<State>(() => ({ inputs: [] }))

export const addOutgoing = (input: Outgoing) =>
  store.setState(({ inputs }) => ({
    inputs: [...inputs.filter(({ id }) => id !== input.id), input],
  }))

export const dropOutgoing = (id: string) =>
  store.setState(({ inputs }) => ({ inputs: inputs.filter((input) => input.id !== id) }))

export const useOutgoing = () => useStore(store, (state) => state.inputs)

/**
 * A text that could not be sent keeps its id: sent again it is the same input, so that a host which
 * had it already does not get it twice.
 */
const failed = new Map<string, { text: string; id: InputId }>()

export const keepFailed = (session: string, text: string, id: InputId) =>
  failed.set(session, { text, id })

export function idForText(session: string, text: string, make: () => InputId): InputId {
  const before = failed.get(session)
  failed.delete(session)
  return before?.text === text ? before.id : make()
}
