import { useCallback, useSyncExternalStore } from 'react'
import { keepText, keptText } from './kept.ts'

const drafts = new Map<string, string>()

/** The text that was begun for a session or a form and not sent; kept over any end of the window. */
export function draftOf(owner: string): string {
  const known = drafts.get(owner)
  if (known !== undefined) return known
  const text = keptText(`draft.${owner}`) ?? ''
  drafts.set(owner, text)
  return text
}

const followers = new Map<string, Set<() => void>>()

/** Calls back whenever the draft becomes another text, whoever changes it; the answer ends that. */
export function followDraft(owner: string, listener: () => void): () => void {
  const listeners = followers.get(owner) ?? new Set()
  followers.set(owner, listeners.add(listener))
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0 && followers.get(owner) === listeners) followers.delete(owner)
  }
}

/** The draft as it is by now: one that could not be sent comes back to the box that is open then. */
export function useDraft(owner: string): string {
  const subscribe = useCallback((listener: () => void) => followDraft(owner, listener), [owner])
  return useSyncExternalStore(subscribe, () => draftOf(owner))
}

export function keepDraft(owner: string, text: string): void {
  drafts.set(owner, text)
  keepText(`draft.${owner}`, text === '' ? undefined : text)
  for (const listener of followers.get(owner) ?? []) listener()
}
