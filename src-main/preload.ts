import { contextBridge, ipcRenderer } from 'electron'
import {
  type MenuCommand,
  type NotificationReport,
  PORT_MESSAGE,
  type WindowBridge,
} from '../src-shared/window-bridge.ts'
import {
  CANCEL_QUIT,
  CHOOSE_FILE,
  CHOOSE_FOLDER,
  CONNECT,
  KEEP_TEXTS,
  KEPT_TEXTS,
  MENU,
  NOTIFICATIONS,
  OPEN_EXTERNAL,
  OPEN_SESSION,
  PORT,
  SHOW_DATA_FOLDER,
  SHOWS_SESSIONS,
  WINDOW_ARGUMENT,
  type WindowFacts,
} from './channels.ts'

const facts = JSON.parse(
  process.argv.find((text) => text.startsWith(WINDOW_ARGUMENT))?.slice(WINDOW_ARGUMENT.length) ??
    '{"version":"","demoRequested":false}',
) as WindowFacts

let openSession: ((id: string) => void) | undefined
let wantedSession: string | undefined
ipcRenderer.on(OPEN_SESSION, (_event, id: string) => {
  if (openSession === undefined) wantedSession = id
  else openSession(id)
})

const bridge: WindowBridge = {
  platform: process.platform,
  versions: {
    ballet: facts.version,
    electron: process.versions.electron ?? '',
    chrome: process.versions.chrome ?? '',
    node: process.versions.node,
  },
  demoRequested: facts.demoRequested,
  connect: () => ipcRenderer.send(CONNECT),
  onMenu: (listener) => {
    const hear = (_event: unknown, command: MenuCommand) => listener(command)
    ipcRenderer.on(MENU, hear)
    return () => {
      ipcRenderer.off(MENU, hear)
    }
  },
  openExternal: (url) => ipcRenderer.invoke(OPEN_EXTERNAL, url) as Promise<boolean>,
  showDataFolder: () => ipcRenderer.invoke(SHOW_DATA_FOLDER) as Promise<boolean>,
  chooseFolder: () => ipcRenderer.invoke(CHOOSE_FOLDER) as Promise<string | undefined>,
  chooseFile: (save) => ipcRenderer.invoke(CHOOSE_FILE, save) as Promise<string | undefined>,
  keptTexts: () => ipcRenderer.invoke(KEPT_TEXTS) as Promise<Record<string, string>>,
  keepTexts: (changes) => ipcRenderer.send(KEEP_TEXTS, changes),
  showsSessions: (ids) => ipcRenderer.send(SHOWS_SESSIONS, ids),
  onOpenSession: (listener) => {
    openSession = listener
    if (wantedSession !== undefined) listener(wantedSession)
    wantedSession = undefined
    return () => {
      if (openSession === listener) openSession = undefined
    }
  },
  notifications: () => ipcRenderer.invoke(NOTIFICATIONS) as Promise<NotificationReport>,
  cancelQuit: () => ipcRenderer.send(CANCEL_QUIT),
}

contextBridge.exposeInMainWorld('ballet', bridge)

// A port cannot cross the context bridge; a message of the window to itself carries it.
ipcRenderer.on(PORT, (event) => {
  window.postMessage(PORT_MESSAGE, window.origin, [...event.ports])
})

// The page's scripts ran by then, so that somebody listens.
window.addEventListener('DOMContentLoaded', () => bridge.connect(), { once: true })
