/** Text and its colour in the light and in the dark theme; an empty colour is that of the text around. */
export type Token = [text: string, light: string, dark: string]
export type HighlightQuestion = { id: number; text: string; language: string }
export type HighlightAnswer = { id: number; lines: Token[][] | null; problem?: string }

/** Longer blocks stay uncoloured: nobody reads them for their colours. */
const LENGTH_LIMIT = 60_000
const REMEMBERED = 200
/** A grammar that takes longer leaves its block uncoloured. */
const LIMIT_MS = 10_000

let worker: Worker | null | undefined
let lastId = 0
const waiting = new Map<number, (lines: Token[][] | null) => void>()
const known = new Map<string, Token[][]>()

function startWorker(): Worker | null {
  if (worker !== undefined) return worker
  try {
    worker = new Worker(new URL('./highlight.worker.ts', import.meta.url), { type: 'module' })
  } catch {
    worker = null
    return null
  }
  worker.addEventListener('message', (event: MessageEvent<HighlightAnswer>) => {
    waiting.get(event.data.id)?.(event.data.lines)
  })
  worker.addEventListener('error', () => {
    worker = null
    for (const give of [...waiting.values()]) give(null)
  })
  return worker
}

const nameOf = (text: string, language: string) => `${language}\n${text}`

export function highlighted(text: string, language: string): Token[][] | undefined {
  return known.get(nameOf(text, language))
}

/** The lines of a block in their colours; null when the language is not known or the block too long. */
export async function highlight(text: string, language: string): Promise<Token[][] | null> {
  if (language === '' || text.length > LENGTH_LIMIT) return null
  const name = nameOf(text, language)
  const before = known.get(name)
  if (before !== undefined) return before
  const running = startWorker()
  if (running === null) return null
  lastId += 1
  const id = lastId
  const lines = await new Promise<Token[][] | null>((resolve) => {
    const give = (found: Token[][] | null) => {
      clearTimeout(limit)
      waiting.delete(id)
      resolve(found)
    }
    const limit = setTimeout(() => give(null), LIMIT_MS)
    waiting.set(id, give)
    running.postMessage({ id, text, language } satisfies HighlightQuestion)
  })
  if (lines !== null) {
    known.set(name, lines)
    if (known.size > REMEMBERED) {
      const [oldest] = known.keys()
      if (oldest !== undefined) known.delete(oldest)
    }
  }
  return lines
}
