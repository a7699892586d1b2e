import type { Refusal } from './refusal.ts'

/** What the preload posts to the window, with one MessagePort of the contract. */
export const PORT_MESSAGE = 'ballet:port'

/** What a person chose in the application's menu; the window carries it out. */
export const MENU_COMMANDS = [
  'project.new',
  'ticket.new',
  'ticket.edit',
  'ticket.start',
  'session.interrupt',
  'session.stop',
  'session.finish',
  'session.park',
  'session.keep',
  'session.resume',
  'session.continue',
  'session.export',
  'session.import',
  'palette.open',
  'inbox.open',
  'fleet.open',
  'settings.open',
  'doctor.open',
  'demo.run',
] as const
export type MenuCommand = (typeof MENU_COMMANDS)[number]

export type ApplicationVersions = {
  ballet: string
  electron: string
  chrome: string
  node: string
}

/** Begins the hash of the window's page where it shows one question to answer and nothing else; its id follows. */
export const ANSWER_HASH = '#answer/'

/** The hash of the page that shows how far a quit is. */
export const QUIT_HASH = '#quit'

/** Whether and how desktop notifications are shown. */
export type NotificationReport = {
  state: 'starting' | 'ready' | 'missing'
  /** What shows them, as it names itself; empty while nothing does. */
  service: string
  /** It shows buttons. */
  buttons: boolean
  /** It takes free text. */
  reply: boolean
  /** Why none are shown; null while they are. */
  problem: Refusal | null
}

/**
 * `window.ballet`, which the preload puts there: what the window cannot do or know by itself. Everything else goes
 * over the port.
 */
export type WindowBridge = {
  /** As Node names it: `linux`, `darwin`, `win32`. */
  platform: string
  versions: ApplicationVersions
  /** The application was started to show the demo. */
  demoRequested: boolean
  /**
   * Asks for a new port, which arrives as a message `PORT_MESSAGE`; the one before is closed. A page gets its first
   * one by itself, once its scripts ran.
   */
  connect(): void
  /** The answer ends it. */
  onMenu(listener: (command: MenuCommand) => void): () => void
  /** Opens an http, https or mailto address outside; false when it is none. */
  openExternal(url: string): Promise<boolean>
  /** Lets a person choose a folder; undefined when they did not. */
  chooseFolder(): Promise<string | undefined>
  /**
   * Lets a person choose a file, or with `save`, which is the name that is offered, where a new one is to be; its
   * absolute path, or undefined when they did not.
   */
  chooseFile(save?: string): Promise<string | undefined>
  /** Opens the data folder in the system's file manager; false when it could not be. */
  showDataFolder(): Promise<boolean>
  /** Texts that windows keep in the data folder, by name: there again after any end of the application. */
  keptTexts(): Promise<Record<string, string>>
  /** Keeps each text, or with null forgets it; written at once. */
  keepTexts(changes: Record<string, string | null>): void
  /** Tells which sessions the window shows, each time that changes: no notification is shown of what a person looks at. */
  showsSessions(ids: readonly string[]): void
  /**
   * A session that is to be shown, such as one whose notification was clicked; what came before there was a listener
   * is told to the first. The answer ends it.
   */
  onOpenSession(listener: (id: string) => void): () => void
  notifications(): Promise<NotificationReport>
  /** The application goes on after all; nothing happens where it does not quit. */
  cancelQuit(): void
}
