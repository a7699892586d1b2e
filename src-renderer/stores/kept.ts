import { bridge } from '../sync/bridge.ts'
import { recall, remember } from './remembered.ts'

/** Long texts take time to write; while somebody types they wait this long. */
const WRITE_AFTER_MS = 250

/**
 * Texts that were begun here and must be there again after any end of the application: in the data folder by the
 * bridge, in the browser's own storage where there is none.
 */
const texts = new Map<string, string>()
const unwritten = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Before anything is drawn that shows one of them. */
export async function loadKept(): Promise<void> {
  const stored = (await bridge()?.keptTexts()) ?? {}
  for (const [name, text] of Object.entries(stored)) {
    if (!unwritten.has(name)) texts.set(name, text)
  }
}

export function keptText(name: string): string | undefined {
  const known = texts.get(name)
  if (known !== undefined || bridge() !== undefined) return known
  const stored = recall(name)
  return typeof stored === 'string' ? stored : undefined
}

/** Undefined forgets it. Written soon, or with `now` before anything else is done. */
export function keepText(name: string, text: string | undefined, now = false): void {
  if (text === undefined) texts.delete(name)
  else texts.set(name, text)
  unwritten.add(name)
  if (now) write()
  else timer ??= setTimeout(write, WRITE_AFTER_MS)
}

function write(): void {
  clearTimeout(timer)
  timer = undefined
  if (unwritten.size === 0) return
  const changes = Object.fromEntries([...unwritten].map((name) => [name, texts.get(name) ?? null]))
  unwritten.clear()
  const given = bridge()
  if (given !== undefined) {
    given.keepTexts(changes)
    return
  }
  for (const [name, text] of Object.entries(changes)) remember(name, text ?? undefined)
}

if (typeof window !== 'undefined') window.addEventListener('pagehide', write)
