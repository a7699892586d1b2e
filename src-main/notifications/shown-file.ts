import { readFile, rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Log } from '../../src-core/index.ts'

/** Notifications that are on the screen, as the service numbers them. */
const Shown = z.object({
  /** Of the bus: numbers mean nothing on another one. */
  bus: z.string(),
  /** Whose numbers they are: the service's name on the bus, which no other process ever has. */
  service: z.string(),
  ids: z.array(z.int().min(1)),
})
export type Shown = z.infer<typeof Shown>

export type ShownFile = {
  /** What an earlier run left; undefined when it left nothing. */
  read(): Promise<Shown | undefined>
  /** What is written while another one is written takes its place. Never rejects. */
  write(shown: Shown): Promise<void>
}

/** Remembers what is shown, so that the start after a crash takes it off the screen. */
export function openShownFile(file: string, log: Log): ShownFile {
  let next: Shown | undefined
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (next !== undefined) {
      const content = JSON.stringify(next)
      next = undefined
      try {
        await writeFile(`${file}.new`, content)
        await rename(`${file}.new`, file)
      } catch (error) {
        log.warn('which notifications are shown could not be kept', { file, error })
      }
    }
    writing = undefined
  }

  return {
    read: async () => {
      try {
        return Shown.parse(JSON.parse(await readFile(file, 'utf8')))
      } catch {
        // The first start, or a file that says nothing useful: then nothing can be taken off the screen.
        return undefined
      }
    },
    write: (shown) => {
      next = shown
      writing ??= write()
      return writing
    },
  }
}
