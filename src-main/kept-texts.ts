import { readFile, rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Log } from '../src-core/index.ts'

const Name = z.string().min(1).max(300)
/** A text may be as long as a message may; pasted pieces of several messages are one text. */
const Text = z.string().max(16_000_000)
const Kept = z.record(Name, Text)
const Changes = z.record(Name, Text.nullable())

export type KeptTexts = {
  all(): Promise<Record<string, string>>
  /** Written at once; what comes while it is written goes with the next writing. Null forgets. */
  change(changes: unknown): void
  /** Resolves when nothing is left to write. */
  settled(): Promise<void>
}

/**
 * Texts that a person began in a window and that must outlive any end of the application; in one file, for its
 * owner alone. Chromium's own storage is written too late for that.
 */
export function openKeptTexts(file: string, log: Log): KeptTexts {
  let texts: Promise<Map<string, string>> | undefined
  let writing: Promise<void> | undefined
  let again = false
  const known = () => {
    texts ??= read(file, log)
    return texts
  }

  async function write(): Promise<void> {
    do {
      again = false
      const content = JSON.stringify(Object.fromEntries(await known()))
      try {
        await writeFile(`${file}.new`, content, { mode: 0o600 })
        await rename(`${file}.new`, file)
      } catch (error) {
        log.warn('what was begun in the window could not be kept', { file, error })
      }
    } while (again)
    writing = undefined
  }

  return {
    all: async () => Object.fromEntries(await known()),
    change: (given) => {
      const parsed = Changes.safeParse(given)
      if (!parsed.success) {
        log.warn('a window gave texts that cannot be kept', { problem: parsed.error.message })
        return
      }
      again = true
      void known().then((map) => {
        for (const [name, text] of Object.entries(parsed.data)) {
          if (text === null) map.delete(name)
          else map.set(name, text)
        }
        writing ??= write()
      })
    },
    settled: async () => {
      await known()
      await writing
    },
  }
}

async function read(file: string, log: Log): Promise<Map<string, string>> {
  try {
    return new Map(Object.entries(Kept.parse(JSON.parse(await readFile(file, 'utf8')))))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map()
    log.warn('what was begun in the window could not be read; it is put aside', { file, error })
    await rename(file, `${file}.unreadable`).catch(() => undefined)
    return new Map()
  }
}
