import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import type { InputId } from '../../src-shared/ids.ts'
import { keepText, keptText } from './kept.ts'

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

/** What a window that is loaded again must know of the texts that were on their way. */
type Unsent = { id: InputId; session: string; text: string }

const isUnsent = (value: unknown): value is Unsent =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  'session' in value &&
  'text' in value &&
  typeof value.text === 'string'

function keptUnsent(): Unsent[] {
  try {
    const kept: unknown = JSON.parse(keptText('unsent') ?? '[]')
    return Array.isArray(kept) ? kept.filter(isUnsent) : []
  } catch {
    // What cannot be read is as good as nothing.
    return []
  }
}

let found: Unsent[] | undefined

/** Those of the window before this one; whether the host has them is not known. */
function earlier(): Unsent[] {
  found ??= keptUnsent()
  return found
}

/** At once, with the drafts as they are by now: a text is then kept in one of the two places and not in both. */
function keepUnsent(): void {
  const now = store.getState().inputs.map(({ id, session, text }) => ({ id, session, text }))
  const unsent = [...earlier(), ...now]
  keepText('unsent', unsent.length === 0 ? undefined : JSON.stringify(unsent), true)
}
store.subscribe(keepUnsent)

/** The texts of a session that were on their way when the window was loaded again; each is given once. */
export function takeUnsent(session: string): string[] {
  const own = earlier().filter((unsent) => unsent.session === session)
  if (own.length === 0) return []
  found = earlier().filter((unsent) => unsent.session !== session)
  keepUnsent()
  for (const { text, id } of own) keepFailed(session, text, id)
  return own.map(({ text }) => text)
}

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
