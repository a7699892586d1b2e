import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder for its owner alone, and those above it. Node's own recursive way never ends where the system has
 * no place for new folders, as in /proc.
 */
export function makeFolder(path: string): void {
  try {
    make(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error
    makeFolder(dirname(path))
    make(path)
  }
}

function make(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined
