import { recall, remember } from './remembered.ts'

const drafts = new Map<string, string>()

/** The text that was begun for a session or a form and not sent; kept over reloads. */
export function draftOf(owner: string): string {
  const known = drafts.get(owner)
  if (known !== undefined) return known
  const stored = recall(`draft.${owner}`)
  return typeof stored === 'string' ? stored : ''
}

const unwritten = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined
/** Long texts take time to write; while somebody types they wait this long. */
const WRITE_AFTER_MS = 400

function writeDrafts(): void {
  clearTimeout(timer)
  timer = undefined
  for (const owner of unwritten) {
    const text = drafts.get(owner) ?? ''
    remember(`draft.${owner}`, text === '' ? undefined : text)
  }
  unwritten.clear()
}

export function keepDraft(owner: string, text: string): void {
  drafts.set(owner, text)
  unwritten.add(owner)
  timer ??= setTimeout(writeDrafts, WRITE_AFTER_MS)
}

if (typeof window !== 'undefined') window.addEventListener('pagehide', writeDrafts)
