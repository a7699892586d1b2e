import { open, readFile, rename, rm } from 'node:fs/promises'
import { BalletError } from '../../src-shared/refusal.ts'
import { Settings } from '../../src-shared/settings.ts'
import type { SettingsPort } from '../ports.ts'

/**
 * The settings of a data folder; the defaults where there is no file. A file that cannot be understood is an error,
 * `settings.malformed`, which names the place, and is never written over.
 */
export async function readSettings(file: string): Promise<Settings> {
  return decode(file, await readObject(file))
}

/** Changes some of the settings and keeps all others, also those that this version does not know. */
export async function changeSettings(file: string, changes: Partial<Settings>): Promise<Settings> {
  const current = await readObject(file)
  decode(file, current)
  const next = { ...current, ...changes }
  const settings = decode(file, next)
  const temporary = `${file}.${process.pid}.tmp`
  try {
    const handle = await open(temporary, 'w', 0o600)
    try {
      await handle.writeFile(`${JSON.stringify(next, undefined, 2)}\n`)
      // The name must never stand for a file whose content is still to come.
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw new BalletError(
      {
        code: 'settings.not-written',
        message: `The settings ${file} cannot be written: ${textOf(error)}. They are as they were.`,
        hint: 'Check that the folder can be written and the disk is not full.',
      },
      { cause: error },
    )
  }
  return settings
}

/**
 * The settings of a running host. `run`: what this run was given instead of the stored settings, until it is changed.
 */
export async function openSettings(
  file: string,
  run: { agents?: number | undefined } = {},
): Promise<SettingsPort> {
  let current = await readSettings(file)
  if (run.agents !== undefined) current = { ...current, agents: run.agents }
  let last: Promise<unknown> = Promise.resolve()
  return {
    get current() {
      return current
    },
    change: (differing) => {
      const next = last.then(async () => {
        const changes = differing(current)
        const stored = await changeSettings(file, changes)
        current = { ...stored, agents: changes.agents ?? current.agents }
        return current
      })
      last = next.catch(() => undefined)
      return next
    },
  }
}

async function readObject(file: string): Promise<Record<string, unknown>> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw malformed(file, textOf(error), error)
  }
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw malformed(file, `${placeOf(text, error)}${textOf(error)}`, error)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed(file, 'it is not an object in braces')
  }
  return value as Record<string, unknown>
}

function decode(file: string, value: unknown): Settings {
  const decoded = Settings.safeParse(value)
  if (decoded.success) return decoded.data
  const [issue] = decoded.error.issues
  throw malformed(file, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`)
}

/** JSON.parse tells the position only; people look for a line. */
function placeOf(text: string, error: unknown): string {
  const position = /position (\d+)/.exec(textOf(error))?.[1]
  if (position === undefined) return ''
  const before = text.slice(0, Number(position)).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: `
}

function malformed(file: string, why: string, cause?: unknown): BalletError {
  return new BalletError(
    {
      code: 'settings.malformed',
      message: `The settings ${file} cannot be used: ${why}.`,
      hint: 'Correct the file, or move it away to start with the defaults.',
    },
    { cause },
  )
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
