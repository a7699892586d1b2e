import { app, BrowserWindow, Menu, type NativeImage, nativeImage, Tray } from 'electron'
import type { Log } from '../../src-core/index.ts'
import { QuestionId, RequestId, type SessionId } from '../../src-shared/ids.ts'
import type { Askable } from '../notifications/notice.ts'
import { type Bitmap, countBitmap, signBitmap } from './count-bitmap.ts'
import { type Waiting, type WaitingLine, waitingWord } from './waiting.ts'

const TRAY_SIZE = 22
const OVERLAY_SIZE = 16
/** More are the same picture. */
const MOST_DRAWN = 10

export type CountIcon = {
  show(waiting: Waiting): void
  end(): void
}

export type CountIconPorts = {
  platform: NodeJS.Platform
  log: Log
  openAnswer(asks: Askable): void
  /** Shows the main window, at a session where one is named. */
  open(session?: SessionId): void
}

/**
 * How much waits for a person: on the dock or the launcher where the system has one, in the taskbar of Windows, and on
 * an icon of the tray with a menu of what waits.
 */
export function createCountIcon({ platform, log, openAnswer, open }: CountIconPorts): CountIcon {
  let tray: Tray | undefined
  let last = ''

  function openLine({ kind, id, session }: WaitingLine): void {
    if (kind === 'question') openAnswer(QuestionId.parse(id))
    else if (kind === 'request') openAnswer(RequestId.parse(id))
    else open(session)
  }

  function menuOf({ count, lines }: Waiting): Menu {
    return Menu.buildFromTemplate([
      { label: waitingWord(count), enabled: false },
      // An ampersand would mark the next letter as a key.
      ...lines.map((line) => ({
        label: line.text.replaceAll('&', '&&'),
        click: () => openLine(line),
      })),
      { type: 'separator' },
      { label: 'Open Ballet', click: () => open() },
      { label: 'Quit', click: () => app.quit() },
    ])
  }

  function drawTray(waiting: Waiting): void {
    const { count } = waiting
    const image = imageOf((size) => signBitmap(size, Math.min(count, MOST_DRAWN)), TRAY_SIZE)
    if (tray === undefined) {
      tray = new Tray(image)
      tray.on('click', () => open())
    } else tray.setImage(image)
    tray.setToolTip(waitingWord(count))
    tray.setContextMenu(menuOf(waiting))
  }

  function drawOverlay(count: number): void {
    const image =
      count === 0
        ? null
        : imageOf((size) => countBitmap(size, Math.min(count, MOST_DRAWN)), OVERLAY_SIZE)
    for (const window of BrowserWindow.getAllWindows()) {
      window.setOverlayIcon(image, count === 0 ? '' : waitingWord(count))
    }
  }

  return {
    show: (waiting) => {
      const now = JSON.stringify(waiting)
      if (now === last) return
      last = now
      try {
        app.setBadgeCount(waiting.count)
        if (platform === 'win32') drawOverlay(waiting.count)
        // The dock is macOS's place for it.
        if (platform !== 'darwin') drawTray(waiting)
      } catch (error) {
        log.warn('the count could not be shown on an icon', { error })
      }
    },
    end: () => {
      app.setBadgeCount(0)
      if (platform === 'win32') drawOverlay(0)
      tray?.destroy()
      tray = undefined
      last = ''
    },
  }
}

/** For screens of one and of two points a pixel. */
function imageOf(draw: (size: number) => Bitmap, size: number): NativeImage {
  const image = nativeImage.createEmpty()
  for (const scaleFactor of [1, 2]) {
    const { size: width, bytes } = draw(size * scaleFactor)
    const part = nativeImage.createFromBitmap(bytes, { width, height: width, scaleFactor })
    image.addRepresentation({ scaleFactor, width, height: width, buffer: part.toPNG() })
  }
  return image
}
