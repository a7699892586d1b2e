import { constants, type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk'
import { leadsInside, pathInside } from '../inside-workspace.ts'

/** The largest file that an agent gets through Ballet. */
const READ_LIMIT_BYTES = 16 * 1024 * 1024

const INVALID_PARAMS = -32_602
const INTERNAL_ERROR = -32_603
const NOT_FOUND = -32_002

/** `where` says where the path leads, after the word "is". */
export type OnRefused = (path: string, what: string, where: string) => void

/** The files of the workspace, for an agent that reads and writes through its client. */
export class WorkspaceFiles {
  readonly #cwd: string
  readonly #onRefused: OnRefused

  /** `onRefused` is told every path that was refused. */
  constructor(cwd: string, onRefused: OnRefused) {
    this.#cwd = cwd
    this.#onRefused = onRefused
  }

  /** `line` counts from 1; `limit` is a number of lines. Rejects with `RequestError`. */
  async read(path: string, line?: number | null, limit?: number | null): Promise<string> {
    const real = await this.#inside(path, 'read')
    const text = await this.#do(path, 'read', async () => {
      const file = await openFile(real, constants.O_RDONLY)
      try {
        const { size } = await file.stat()
        if (size > READ_LIMIT_BYTES) throw new Error(`it has ${size} bytes, which is too many`)
        return await file.readFile('utf8')
      } finally {
        await file.close()
      }
    })
    if ((line ?? 1) <= 1 && (limit ?? null) === null) return text
    const from = Math.max(1, line ?? 1) - 1
    const lines = text.split('\n')
    return lines
      .slice(from, limit === null || limit === undefined ? undefined : from + limit)
      .join('\n')
  }

  /** Makes the file, and the folders that it needs. Rejects with `RequestError`. */
  async write(path: string, content: string): Promise<void> {
    const real = await this.#inside(path, 'write')
    // Git runs programs that its own files name, and nobody is asked about a write.
    if (!leadsInside(this.#cwd, real)) {
      throw this.#refused(path, 'write', 'one of git’s own files, which only git writes')
    }
    await this.#do(path, 'write', async () => {
      await mkdir(dirname(real), { recursive: true })
      const file = await openFile(real, constants.O_WRONLY | constants.O_CREAT)
      try {
        await file.truncate()
        await file.writeFile(content)
      } finally {
        await file.close()
      }
    })
  }

  async #inside(path: string, what: string): Promise<string> {
    const real = await this.#do(path, what, async () => pathInside(this.#cwd, path))
    if (real !== null) return real
    throw this.#refused(path, what, 'outside of the workspace')
  }

  #refused(path: string, what: string, where: string): RequestError {
    this.#onRefused(path, what, where)
    const why = `it is ${where}. The workspace is ${this.#cwd}.`
    return new RequestError(INVALID_PARAMS, `Ballet does not ${what} ${path}: ${why}`)
  }

  async #do<T>(path: string, what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      const why = error instanceof Error ? error.message : String(error)
      throw new RequestError(
        code === 'ENOENT' ? NOT_FOUND : INTERNAL_ERROR,
        `Ballet could not ${what} ${path}: ${why}`,
      )
    }
  }
}

/**
 * Opens a file, and nothing else: a named pipe would be waited for until somebody opens its other end, and a few of these
 * would take every thread with which this process uses files.
 */
async function openFile(real: string, flags: number): Promise<FileHandle> {
  const file = await open(real, flags | constants.O_NOFOLLOW | (constants.O_NONBLOCK ?? 0), 0o666)
  try {
    if ((await file.stat()).isFile()) return file
    throw new Error('it is no file')
  } catch (error) {
    await file.close()
    throw error
  }
}
