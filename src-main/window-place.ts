import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { type BrowserWindow, type Rectangle, screen } from 'electron'
import { z } from 'zod'
import type { Log } from '../src-core/index.ts'
import { fitInto } from './fit.ts'

const SAVE_AFTER_MS = 500
export const SMALLEST = { width: 640, height: 420 }
const DEFAULT_SIZE = { width: 1_360, height: 860 }

const Place = z.object({
  x: z.int(),
  y: z.int(),
  width: z.int().min(SMALLEST.width),
  height: z.int().min(SMALLEST.height),
  maximized: z.boolean(),
})
type Place = z.infer<typeof Place>

/** Where the window was last, if that is still on a screen; else only a size. Never larger than its screen. */
export function readPlace(file: string): Partial<Place> & { width: number; height: number } {
  try {
    const place = Place.parse(JSON.parse(readFileSync(file, 'utf8')))
    if (isOnAScreen(place)) {
      return { ...place, ...fitInto(place, screen.getDisplayMatching(place).workArea) }
    }
  } catch {
    // The first start, or a file that says nothing useful: the default is as good.
  }
  const { width, height } = screen.getPrimaryDisplay().workArea
  return {
    width: Math.min(DEFAULT_SIZE.width, width),
    height: Math.min(DEFAULT_SIZE.height, height),
  }
}

/** Keeps the window's place in the file while a person moves it. */
export function keepPlace(window: BrowserWindow, file: string, log: Log): void {
  let timer: NodeJS.Timeout | undefined
  const save = () => {
    clearTimeout(timer)
    if (window.isDestroyed()) return
    const place: Place = { ...window.getNormalBounds(), maximized: window.isMaximized() }
    write(file, JSON.stringify(place)).catch((error: unknown) => {
      log.warn('the place of the window could not be kept', { file, error })
    })
  }
  const saveSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(save, SAVE_AFTER_MS)
  }
  window.on('resize', saveSoon)
  window.on('move', saveSoon)
  window.on('close', save)
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

function isOnAScreen({ x, y, width, height }: Rectangle): boolean {
  return screen.getAllDisplays().some(({ workArea }) => {
    const across = Math.min(x + width, workArea.x + workArea.width) - Math.max(x, workArea.x)
    const down = Math.min(y + height, workArea.y + workArea.height) - Math.max(y, workArea.y)
    return across > 100 && down > 50
  })
}
