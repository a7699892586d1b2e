import { contextBridge, ipcRenderer } from 'electron'
import { type MenuCommand, PORT_MESSAGE, type WindowBridge } from '../src-shared/window-bridge.ts'
import {
  CHOOSE_FOLDER,
  CONNECT,
  KEEP_TEXTS,
  KEPT_TEXTS,
  MENU,
  OPEN_EXTERNAL,
  PORT,
  SHOW_DATA_FOLDER,
  WINDOW_ARGUMENT,
  type WindowFacts,
} from './channels.ts'

const facts = JSON.parse(
  process.argv.find((text) => text.startsWith(WINDOW_ARGUMENT))?.slice(WINDOW_ARGUMENT.length) ??
    '{"version":"","demoRequested":false}',
) as WindowFacts

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
  keptTexts: () => ipcRenderer.invoke(KEPT_TEXTS) as Promise<Record<string, string>>,
  keepTexts: (changes) => ipcRenderer.send(KEEP_TEXTS, changes),
}

contextBridge.exposeInMainWorld('ballet', bridge)

// A port cannot cross the context bridge; a message of the window to itself carries it.
ipcRenderer.on(PORT, (event) => {
  window.postMessage(PORT_MESSAGE, window.origin, [...event.ports])
})

// The page's scripts ran by then, so that somebody listens.
window.addEventListener('DOMContentLoaded', () => bridge.connect(), { once: true })
