import type { SessionId, TicketId } from '../src-shared/ids.ts'
import type { Refusal } from '../src-shared/refusal.ts'
import type { MenuCommand } from '../src-shared/window-bridge.ts'
import { interrupt, newCommand } from './features/composer/steer.ts'
import { holdsAnAnswer, undoLast } from './features/inbox/held-answer.tsx'
import { inboxItems } from './features/inbox/items.ts'
import {
  attempt,
  isLive,
  keepSession,
  parkSession,
  resumeSession,
  startTicket,
} from './features/session/actions.ts'
import { whyNot, whyNotContinue, whyNotExport } from './features/session/ending.ts'
import { canResume, whyNotPark } from './features/session/parking.ts'
import { chooseTheme } from './features/settings/change.ts'
import { whileDemoStarts } from './stores/demo.ts'
import { type InboxView, showInInbox } from './stores/inbox-view.ts'
import {
  closePane,
  layoutStore,
  openBeside,
  openPage,
  type Page,
  showDialog,
  toggleDetails,
} from './stores/layout.ts'
import { tell } from './stores/told.ts'
import { wantRequest } from './stores/wanted-request.ts'
import type { Client } from './sync/client.ts'
import { newestSession, recordsStore } from './sync/records.ts'

/** Something a person can do from anywhere: by key, in the palette, in the application's menu. */
export type Command = {
  id: string
  title: string
  keys?: string
  /** False: not possible now; it is then not offered. */
  can?: () => boolean
  run: (client: Client) => void | Promise<void>
}

const focusedPage = (): Page => {
  const { panes, focused } = layoutStore.getState()
  return panes[focused] ?? { page: 'home' }
}

/** The session in the focused pane. */
export function focusedSession() {
  const page = focusedPage()
  return page.page === 'session' ? recordsStore().getState().sessions.get(page.session) : undefined
}

/** The ticket that the focused pane is about. */
function focusedTicket(): TicketId | undefined {
  const page = focusedPage()
  if (page.page === 'ticket' || page.page === 'edit-ticket') return page.ticket as TicketId
  return focusedSession()?.ticketId
}

function focusedProject(): string | null {
  const page = focusedPage()
  const { tickets, projects } = recordsStore().getState()
  const ticket = focusedTicket()
  const known = ticket === undefined ? undefined : tickets.get(ticket)?.projectId
  if (known !== undefined) return known
  if (page.page === 'edit-project') return page.project
  if (page.page === 'new-ticket' && page.project !== null) return page.project
  const [first] = projects.keys()
  return first ?? null
}

function canStart(): boolean {
  const ticket = focusedTicket()
  if (ticket === undefined) return false
  const sketch = newestSession(recordsStore().getState().sketches, ticket)
  return sketch === undefined || !isLive(sketch.state)
}

async function told<T>(call: Promise<{ ok: true; value: T } | { ok: false; refusal: Refusal }>) {
  const outcome = await call
  if (!outcome.ok) tell(outcome.refusal)
  return outcome
}

/** Shows the demo's session; the answer is why there is none. */
export async function startDemo(client: Client): Promise<Refusal | null> {
  const outcome = await whileDemoStarts(
    attempt(() => client.host.demo({ commandId: newCommand() })),
  )
  if (!outcome.ok) return outcome.refusal
  openPage({ page: 'session', session: outcome.value.id })
  return null
}

export async function runDemo(client: Client): Promise<void> {
  const refusal = await startDemo(client)
  if (refusal !== null) tell(refusal)
}

/** A command of a session's menu, which asks for confirmation in the pane. */
function askInPane(what: 'stop' | 'finish' | 'continue'): void {
  window.dispatchEvent(new CustomEvent('ballet:confirm', { detail: what }))
}

async function onFocused(client: Client, act: typeof parkSession): Promise<void> {
  const session = focusedSession()
  if (session !== undefined) await told(act(client, session.id))
}

async function toldOf(work: Promise<Refusal | null>): Promise<void> {
  const refusal = await work
  if (refusal !== null) tell(refusal)
}

/** Goes to the oldest request or question of the session in sight, where it stands in its timeline; else to the inbox. */
function answerNext(): void {
  const { requests, questions } = recordsStore().getState()
  const here = focusedSession()?.id
  const open = [...questions.values()].filter(({ state }) => state === 'open')
  const [oldest] = [...requests.values(), ...open]
    .filter(({ session }) => session === here)
    .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  if (oldest === undefined) openInbox({})
  else {
    openPage({ page: 'session', session: oldest.session })
    wantRequest(oldest.id)
  }
}

function openInbox(view: Partial<InboxView>): void {
  showInInbox({ shows: 'open', kind: null, project: null, ...view })
  openPage({ page: 'inbox' })
}

const hasProject = () => recordsStore().getState().projects.size > 0

export const commands: readonly Command[] = [
  { id: 'palette', title: 'Search or command', keys: 'Mod+K', run: () => showDialog('palette') },
  {
    id: 'ticket.new',
    title: 'New ticket',
    keys: 'Mod+N',
    can: hasProject,
    run: () => openPage({ page: 'new-ticket', project: focusedProject() }),
  },
  {
    id: 'project.new',
    title: 'New project',
    keys: 'Mod+Shift+N',
    run: () => openPage({ page: 'new-project' }),
  },
  {
    id: 'ticket.open',
    title: 'Show this ticket’s page',
    can: () => focusedTicket() !== undefined && focusedPage().page !== 'ticket',
    run: () => openPage({ page: 'ticket', ticket: focusedTicket() ?? '' }),
  },
  {
    id: 'ticket.edit',
    title: 'Edit this ticket',
    keys: 'Mod+E',
    can: () => focusedTicket() !== undefined,
    run: () => openPage({ page: 'edit-ticket', ticket: focusedTicket() ?? '' }),
  },
  {
    id: 'project.edit',
    title: 'Edit this project',
    can: hasProject,
    run: () => {
      const project = focusedProject()
      if (project !== null) openPage({ page: 'edit-project', project })
    },
  },
  {
    id: 'ticket.start',
    title: 'Start this ticket',
    can: canStart,
    run: async (client) => {
      const ticket = focusedTicket()
      if (ticket === undefined) return
      const outcome = await told(startTicket(client, ticket))
      if (outcome.ok) openPage({ page: 'session', session: outcome.value.id })
    },
  },
  {
    id: 'session.interrupt',
    title: 'Interrupt the running turn',
    keys: 'Mod+.',
    can: () => focusedSession()?.state === 'working',
    run: async (client) => {
      const session = focusedSession()
      if (session === undefined) return
      const refusal = await interrupt(client, session.id as SessionId)
      if (refusal !== null) tell(refusal)
    },
  },
  {
    id: 'session.stop',
    title: 'Stop this session…',
    keys: 'Mod+Shift+S',
    can: () => whyNot('stop', focusedSession()?.state ?? 'finished') === null,
    run: () => askInPane('stop'),
  },
  {
    id: 'session.finish',
    title: 'Finish this session…',
    keys: 'Mod+Shift+D',
    can: () => whyNot('finish', focusedSession()?.state ?? 'finished') === null,
    run: () => askInPane('finish'),
  },
  {
    id: 'session.park',
    title: 'Park this session now',
    keys: 'Mod+Shift+P',
    can: () => {
      const session = focusedSession()
      return session !== undefined && whyNotPark(session) === null
    },
    run: (client) => onFocused(client, parkSession),
  },
  {
    id: 'session.keep',
    title: 'Keep this session online for an hour',
    keys: 'Mod+Shift+K',
    can: () => focusedSession()?.parkAt != null,
    run: (client) => onFocused(client, keepSession),
  },
  {
    id: 'session.resume',
    title: 'Resume this session',
    keys: 'Mod+Shift+G',
    can: () => canResume(focusedSession()?.state ?? 'finished'),
    run: (client) => onFocused(client, resumeSession),
  },
  {
    id: 'session.continue',
    title: 'Continue this session with another runtime…',
    keys: 'Mod+Shift+E',
    can: () => whyNotContinue(focusedSession()?.state ?? 'finished') === null,
    run: () => askInPane('continue'),
  },
  {
    id: 'session.export',
    title: 'Export this session…',
    can: () => whyNotExport(focusedSession()?.state ?? 'finished') === null,
    run: () => showDialog('export'),
  },
  {
    id: 'session.import',
    title: 'Import a session…',
    run: () => showDialog('import'),
  },
  {
    id: 'composer.focus',
    title: 'Write a message',
    keys: 'Mod+J',
    can: () => focusedSession() !== undefined,
    run: () => {
      window.dispatchEvent(new Event('ballet:focus-composer'))
    },
  },
  {
    id: 'find',
    title: 'Find in this timeline',
    keys: 'Mod+F',
    can: () => focusedSession() !== undefined,
    run: () => {
      window.dispatchEvent(new Event('ballet:find'))
    },
  },
  { id: 'details', title: 'Show or hide the details', keys: 'Mod+I', run: toggleDetails },
  {
    id: 'split',
    title: 'Split into two panes',
    keys: 'Mod+\\',
    can: () => layoutStore.getState().panes.length === 1,
    run: () => openBeside({ page: 'home' }),
  },
  {
    id: 'pane.close',
    title: 'Close this pane',
    keys: 'Mod+Shift+\\',
    can: () => layoutStore.getState().panes.length > 1 || focusedPage().page !== 'home',
    run: () => closePane(layoutStore.getState().focused),
  },
  { id: 'inbox', title: 'Inbox', keys: 'Mod+B', run: () => openInbox({}) },
  {
    id: 'inbox.requests',
    title: 'Inbox: requests that wait for an answer',
    keys: 'Mod+Shift+R',
    run: () => openInbox({ kind: 'request' }),
  },
  {
    id: 'inbox.questions',
    title: 'Inbox: questions',
    run: () => openInbox({ kind: 'question' }),
  },
  {
    id: 'inbox.assumptions',
    title: 'Inbox: assumptions to look over',
    run: () => openInbox({ kind: 'assumption' }),
  },
  {
    id: 'inbox.answered',
    title: 'Inbox: what was answered',
    run: () => openInbox({ shows: 'answered' }),
  },
  {
    id: 'answer.next',
    title: 'Answer the next question or request',
    keys: 'Mod+Shift+A',
    can: () => inboxItems(recordsStore().getState()).length > 0,
    run: answerNext,
  },
  {
    id: 'answer.undo',
    title: 'Take the last answer back',
    can: holdsAnAnswer,
    run: undoLast,
  },
  { id: 'home', title: 'Overview', keys: 'Mod+Shift+H', run: () => openPage({ page: 'home' }) },
  { id: 'fleet', title: 'Fleet', keys: 'Mod+Shift+F', run: () => openPage({ page: 'fleet' }) },
  {
    id: 'settings',
    title: 'Settings',
    keys: 'Mod+,',
    run: () => openPage({ page: 'settings' }),
  },
  { id: 'check', title: 'Check this machine', run: () => openPage({ page: 'check' }) },
  { id: 'demo', title: 'Run the demo: no account needed', run: runDemo },
  {
    id: 'theme.light',
    title: 'Theme: light',
    run: (client) => toldOf(chooseTheme(client, 'light')),
  },
  { id: 'theme.dark', title: 'Theme: dark', run: (client) => toldOf(chooseTheme(client, 'dark')) },
  {
    id: 'theme.system',
    title: 'Theme: as the system',
    run: (client) => toldOf(chooseTheme(client, 'system')),
  },
  { id: 'keyboard', title: 'Keyboard', keys: '?', run: () => showDialog('keyboard') },
]

const ofMenu: Record<MenuCommand, string> = {
  'project.new': 'project.new',
  'ticket.new': 'ticket.new',
  'ticket.start': 'ticket.start',
  'session.interrupt': 'session.interrupt',
  'session.stop': 'session.stop',
  'session.finish': 'session.finish',
  'session.park': 'session.park',
  'session.keep': 'session.keep',
  'session.resume': 'session.resume',
  'session.continue': 'session.continue',
  'session.export': 'session.export',
  'session.import': 'session.import',
  'palette.open': 'palette',
  'doctor.open': 'check',
  'inbox.open': 'inbox',
  'settings.open': 'settings',
  'fleet.open': 'fleet',
  'ticket.edit': 'ticket.edit',
  'demo.run': 'demo',
}

export function runCommand(id: string, client: Client): void {
  const command = commands.find((known) => known.id === id)
  if (command === undefined || command.can?.() === false) return
  void command.run(client)
}

export const runMenuCommand = (command: MenuCommand, client: Client) =>
  runCommand(ofMenu[command], client)
