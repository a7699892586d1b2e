import { constants, open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { cutBytes } from './cut-text.ts'

/** Longer notes are cut, so that a repository cannot fill the model's context. */
const NOTES_LIMIT_BYTES = 128 * 1024

/** There are none, or none that can be read; the last is what a socket gives. */
const NO_NOTES: ReadonlySet<unknown> = new Set(['ENOENT', 'EACCES', 'ELOOP', 'ENOTDIR', 'ENXIO'])

const NAMES = ['CLAUDE.md', 'AGENTS.md'] as const

/**
 * What the repository tells agents: its CLAUDE.md, or AGENTS.md where there is none, as a part of a prompt.
 * Null without either. A link that leads out of the workspace is not followed.
 */
export async function readRepositoryNotes(cwd: string): Promise<string | null> {
  const root = await realpath(cwd)
  for (const name of NAMES) {
    const text = await readInside(root, name)
    if (text === null || text.trim() === '') continue
    const cut = cutBytes(text, NOTES_LIMIT_BYTES)
    const rest =
      cut.length < text.length ? `\n\n[${name} is longer; read the file for the rest.]` : ''
    return `# Instructions of the repository (${name})\n\n${cut.trim()}${rest}`
  }
  return null
}

async function readInside(root: string, name: string): Promise<string | null> {
  try {
    const path = await realpath(join(root, name))
    if (!path.startsWith(root + sep)) return null
    // A named pipe would be waited for.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      if (!(await file.stat()).isFile()) return null
      const buffer = Buffer.alloc(NOTES_LIMIT_BYTES + 4)
      const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (NO_NOTES.has(code)) return null
    throw error
  }
}
