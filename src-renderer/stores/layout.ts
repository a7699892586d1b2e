import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import { recall, remember } from './remembered.ts'

/** What a pane shows. */
export type Page =
  | { page: 'home' }
  | { page: 'session'; session: string }
  | { page: 'ticket'; ticket: string }
  | { page: 'new-ticket'; project: string | null }
  | { page: 'new-project' }
  | { page: 'inbox' }
  | { page: 'edit-project'; project: string }
  | { page: 'edit-ticket'; ticket: string }
  | { page: 'settings' }
  | { page: 'fleet' }
  | { page: 'check' }

export type Layout = {
  /** One pane, or two side by side. */
  panes: Page[]
  focused: number
  /** Whether the details stand beside the panes where there is room for them. */
  details: boolean
  /** Whether they lie over the panes where there is no room. */
  detailsOver: boolean
  dialog: 'palette' | 'keyboard' | 'export' | 'import' | null
  /** Projects and groups that are folded in the sidebar. */
  folded: ReadonlySet<string>
}

const pages = [
  'home',
  'session',
  'ticket',
  'edit-ticket',
  'new-ticket',
  'new-project',
  'edit-project',
  'inbox',
  'settings',
  'fleet',
  'check',
]

function isPage(value: unknown): value is Page {
  if (typeof value !== 'object' || value === null || !('page' in value)) return false
  const { page } = value
  if (typeof page !== 'string' || !pages.includes(page)) return false
  if (page === 'session') return 'session' in value && typeof value.session === 'string'
  if (page === 'edit-project') return 'project' in value && typeof value.project === 'string'
  if (page === 'ticket' || page === 'edit-ticket')
    return 'ticket' in value && typeof value.ticket === 'string'
  return true
}

function initial(): Layout {
  const stored = recall('layout')
  const layout: Layout = {
    panes: [{ page: 'home' }],
    focused: 0,
    details: true,
    detailsOver: false,
    dialog: null,
    folded: new Set(),
  }
  if (typeof stored !== 'object' || stored === null) return layout
  if ('panes' in stored && Array.isArray(stored.panes)) {
    const panes = stored.panes.filter(isPage).slice(0, 2)
    if (panes.length > 0) layout.panes = panes
  }
  if ('focused' in stored && stored.focused === 1 && layout.panes.length === 2) layout.focused = 1
  if ('details' in stored && typeof stored.details === 'boolean') layout.details = stored.details
  if ('folded' in stored && Array.isArray(stored.folded)) {
    layout.folded = new Set(stored.folded.filter((name) => typeof name === 'string'))
  }
  return layout
}

export const layoutStore = createStore<Layout>(initial)

layoutStore.subscribe(({ panes, focused, details, folded }) => {
  remember('layout', { panes, focused, details, folded: [...folded] })
})

export function useLayout<T>(select: (layout: Layout) => T): T {
  return useStore(layoutStore, select)
}

const samePage = (a: Page, b: Page) => JSON.stringify(a) === JSON.stringify(b)

/** Shows a page in the pane that has the focus, or goes to the pane that shows it already. */
export function openPage(page: Page): void {
  layoutStore.setState((layout) => {
    const shown = layout.panes.findIndex((pane) => samePage(pane, page))
    if (shown >= 0) return { focused: shown }
    return { panes: layout.panes.map((pane, at) => (at === layout.focused ? page : pane)) }
  })
}

export function openBeside(page: Page): void {
  layoutStore.setState(({ panes }) => ({ panes: [panes[0] ?? { page: 'home' }, page], focused: 1 }))
}

export function closePane(at: number): void {
  layoutStore.setState(({ panes }) => {
    const rest = panes.filter((_, index) => index !== at)
    return { panes: rest.length === 0 ? [{ page: 'home' }] : rest, focused: 0 }
  })
}

/** The page that takes the place of one which is gone, such as a form that did its work. */
export function replacePage(at: number, page: Page): void {
  layoutStore.setState(({ panes }) => ({
    panes: panes.map((pane, index) => (index === at ? page : pane)),
  }))
}

export const focusPane = (focused: number) => {
  if (layoutStore.getState().focused !== focused) layoutStore.setState({ focused })
}

export const showDialog = (dialog: Layout['dialog']) => layoutStore.setState({ dialog })

/** Below this width the details have no room beside the panes. */
export const WIDE = '(min-width: 1200px)'

export function toggleDetails(): void {
  layoutStore.setState(({ details, detailsOver }) =>
    matchMedia(WIDE).matches ? { details: !details } : { detailsOver: !detailsOver },
  )
}

export function toggleFold(name: string): void {
  layoutStore.setState(({ folded }) => {
    const next = new Set(folded)
    if (!next.delete(name)) next.add(name)
    return { folded: next }
  })
}
