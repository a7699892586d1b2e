/** Names of the messages between preload and main process; both rooms import them. */
export const CONNECT = 'ballet:connect'
export const PORT = 'ballet:port'
export const MENU = 'ballet:menu'
export const OPEN_EXTERNAL = 'ballet:open-external'
export const SHOW_DATA_FOLDER = 'ballet:show-data-folder'
export const CHOOSE_FOLDER = 'ballet:choose-folder'
export const CHOOSE_FILE = 'ballet:choose-file'
export const KEPT_TEXTS = 'ballet:kept-texts'
export const KEEP_TEXTS = 'ballet:keep-texts'
export const SHOWS_SESSIONS = 'ballet:shows-sessions'
export const OPEN_SESSION = 'ballet:open-session'
export const CANCEL_QUIT = 'ballet:cancel-quit'
export const NOTIFICATIONS = 'ballet:notifications'

/** Begins the argument that tells a window's preload what it was made with, as JSON. */
export const WINDOW_ARGUMENT = '--ballet-window='

export type WindowFacts = { version: string; demoRequested: boolean }
