import { basename, join } from 'node:path'
import {
  app,
  type BrowserWindow,
  dialog,
  ipcMain,
  MessageChannelMain,
  type MessagePortMain,
  type WebContents,
} from 'electron'
import type { Log } from '../src-core/index.ts'
import {
  CHOOSE_FILE,
  CHOOSE_FOLDER,
  CONNECT,
  KEEP_TEXTS,
  KEPT_TEXTS,
  OPEN_EXTERNAL,
  PORT,
  SHOW_DATA_FOLDER,
} from './channels.ts'
import { isOwnPage } from './guard.ts'
import type { KeptTexts } from './kept-texts.ts'
import { openOutside } from './outside.ts'

export type WindowPorts = {
  /** From now on what windows ask is answered, also what they asked before. */
  serve(upgrade: (port: MessagePortMain) => void): void
}

/**
 * Hands every page of ours that asks one port of its own. A page may ask before the host is open: what it sends waits
 * in its port.
 */
export function createWindowPorts(
  log: Log,
  windowOf: (contents: WebContents) => BrowserWindow | undefined,
  showDataFolder: () => Promise<boolean>,
  kept: KeptTexts,
): WindowPorts {
  const current = new Map<WebContents, MessagePortMain>()
  let upgrade: ((port: MessagePortMain) => void) | undefined

  ipcMain.on(CONNECT, (event) => {
    const { sender, senderFrame } = event
    if (senderFrame === null || !isOwnPage(senderFrame)) {
      log.warn('a page that is not ours asked for a port', { page: senderFrame?.url })
      return
    }
    current.get(sender)?.close()
    const { port1, port2 } = new MessageChannelMain()
    current.set(sender, port1)
    port1.once('close', () => {
      if (current.get(sender) === port1) current.delete(sender)
    })
    upgrade?.(port1)
    senderFrame.postMessage(PORT, null, [port2])
  })

  ipcMain.handle(OPEN_EXTERNAL, async (event, address: unknown) =>
    isOwnPage(event.senderFrame) && typeof address === 'string' ? openOutside(address) : false,
  )

  ipcMain.handle(CHOOSE_FOLDER, async (event) => {
    const window = windowOf(event.sender)
    if (!isOwnPage(event.senderFrame) || window === undefined) return undefined
    const { filePaths } = await dialog.showOpenDialog(window, { properties: ['openDirectory'] })
    return filePaths[0]
  })

  ipcMain.handle(CHOOSE_FILE, async (event, save: unknown) => {
    const window = windowOf(event.sender)
    if (!isOwnPage(event.senderFrame) || window === undefined) return undefined
    if (typeof save !== 'string') {
      const { filePaths } = await dialog.showOpenDialog(window, { properties: ['openFile'] })
      return filePaths[0]
    }
    const { filePath, canceled } = await dialog.showSaveDialog(window, {
      defaultPath: join(app.getPath('documents'), basename(save)),
    })
    return canceled ? undefined : filePath
  })

  ipcMain.handle(SHOW_DATA_FOLDER, async (event) =>
    isOwnPage(event.senderFrame) ? showDataFolder() : false,
  )

  ipcMain.handle(KEPT_TEXTS, (event) => (isOwnPage(event.senderFrame) ? kept.all() : {}))
  ipcMain.on(KEEP_TEXTS, (event, changes: unknown) => {
    if (isOwnPage(event.senderFrame)) kept.change(changes)
  })

  return {
    serve: (next) => {
      upgrade = next
      for (const port of current.values()) next(port)
    },
  }
}
