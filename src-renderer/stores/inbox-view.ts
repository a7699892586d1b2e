import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import type { InboxKind } from '../../src-shared/inbox.ts'

/** What of the inbox is shown; kept while the window lives. */
export type InboxView = {
  shows: 'open' | 'answered'
  kind: InboxKind | null
  /** The id of a project. */
  project: string | null
  /** The id of the chosen item. */
  current: string | null
  /** The id of a question whose answer was taken back: shown as soon as it waits again. */
  comesBack: string | null
  search: string
}

export const inboxView = createStore<InboxView>(() => ({
  shows: 'open',
  kind: null,
  project: null,
  current: null,
  comesBack: null,
  search: '',
}))

export const useInboxView = <T>(select: (view: InboxView) => T): T => useStore(inboxView, select)

/** What is shown changes, and then another item is the first. */
export const showInInbox = (change: Partial<InboxView>) =>
  inboxView.setState({ current: null, comesBack: null, ...change })
