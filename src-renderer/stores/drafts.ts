import { useCallback, useSyncExternalStore } from 'react'
import { recall, remember } from './remembered.ts'

const drafts = new Map<string, string>()

/** The text that was begun for a session or a form and not sent; kept over reloads. */
export function draftOf(owner: string): string {
  const known = drafts.get(owner)
  if (known !== undefined) return known
  const stored = recall(`draft.${owner}`)
  const text = typeof stored === 'string' ? stored : ''
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

const unwritten = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined
/** Long texts take time to write; while somebody types they wait this long. */
const WRITE_AFTER_MS = 400

function writeDrafts(): void {
  clearTimeout(timer)
  timer = undefined
  for (const owner of unwritten) {
    const text = drafts.get(owner) ?? ''
    remember(`draft.${owner}`, text === '' ? undefined : text)
  }
  unwritten.clear()
}

export function keepDraft(owner: string, text: string): void {
  drafts.set(owner, text)
  unwritten.add(owner)
  for (const listener of followers.get(owner) ?? []) listener()
  timer ??= setTimeout(writeDrafts, WRITE_AFTER_MS)
}

if (typeof window !== 'undefined') window.addEventListener('pagehide', writeDrafts)
