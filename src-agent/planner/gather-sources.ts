import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join } from 'node:path'
import {
  type Listing,
  listOutside,
  listRepository,
  matcherOf,
  type Repository,
  type SourceFile,
} from './source-files.ts'

/** What a planner gets to read, at most. */
export const SOURCE_LIMITS = {
  files: 2_000,
  bytes: 32 * 1024 * 1024,
  fileBytes: 1024 * 1024,
} as const

/** Where a source from outside the repository stands among the sources, and its own absolute path. */
export type Outside = { at: string; path: string }

export type Gathered = {
  files: number
  outside: readonly Outside[]
  /** What is not there, and why; for the planner and for people. */
  notes: readonly string[]
}

export type GatherOptions = {
  sources: readonly string[]
  /** Null when there is none to read from. */
  repository: Repository | null
  /** An empty folder. */
  into: string
  signal: AbortSignal
  limits?: { files: number; bytes: number; fileBytes: number }
}

/**
 * Copies the text files that the sources name into a folder: those of the repository under their own paths, those
 * outside it under a name. Earlier sources come first where not all fit.
 */
export async function gatherSources(options: GatherOptions): Promise<Gathered> {
  const gathering = new Gathering(options)
  const { sources, repository } = options
  if (repository === null) gathering.note('The repository could not be read.')
  const tree = repository === null ? NO_FILES : await listRepository(repository)
  const outside: Outside[] = []
  for (const source of sources) {
    if (!isAbsolute(source)) {
      const isMatch = matcherOf(source)
      await gathering.take({ ...tree, files: tree.files.filter(({ path }) => isMatch(path)) })
      continue
    }
    const found = await listOutside(source)
    if (found === null) {
      gathering.note(`${source} is not there.`)
      continue
    }
    const { isFile, files, read } = found
    const path = isFile ? dirname(found.root) : found.root
    const at = freeName(path, tree.files, outside)
    outside.push({ at, path })
    await gathering.take({
      files: files.map((file) => ({ ...file, path: `${at}/${file.path}` })),
      read,
    })
  }
  return { files: gathering.files, outside, notes: gathering.notes() }
}

const NO_FILES: Listing = { files: [], read: async () => [] }

/** A name that nothing of the repository and no other source has. */
function freeName(path: string, tree: readonly SourceFile[], outside: readonly Outside[]): string {
  const taken = new Set([
    ...tree.map((file) => file.path.split('/')[0]?.toLowerCase()),
    ...outside.map(({ at }) => at.toLowerCase()),
  ])
  const name = `outside-${basename(path).replace(/[^\w.-]/g, '-')}`
  for (let n = 1; ; n += 1) {
    const candidate = n === 1 ? name : `${name}-${n}`
    if (!taken.has(candidate.toLowerCase())) return candidate
  }
}

class Gathering {
  files = 0
  readonly #options: GatherOptions
  readonly #limits: { files: number; bytes: number; fileBytes: number }
  readonly #notes: string[] = []
  readonly #taken = new Set<string>()
  #admitted = 0
  #bytes = 0
  #tooLarge: string[] = []
  #left = 0

  constructor(options: GatherOptions) {
    this.#options = options
    this.#limits = options.limits ?? SOURCE_LIMITS
  }

  note(text: string): void {
    this.#notes.push(text)
  }

  notes(): string[] {
    const { files, bytes, fileBytes } = this.#limits
    const notes = [...this.#notes]
    const [first, second, third] = this.#tooLarge
    if (first !== undefined) {
      const names = [first, second, third].filter((name) => name !== undefined).join(', ')
      const more = this.#tooLarge.length > 3 ? ` and ${this.#tooLarge.length - 3} more` : ''
      notes.push(`Left out, since larger than ${mebibytes(fileBytes)}: ${names}${more}.`)
    }
    if (this.#left > 0) {
      notes.push(
        `${this.#left} files were left out: a planner reads ${files} files and ${mebibytes(bytes)} at most. Name fewer sources in the project.`,
      )
    }
    return notes
  }

  async take({ files, read }: Listing): Promise<void> {
    const wanted = files.filter((file) => this.#admits(file))
    const contents = await read(wanted)
    for (const [index, file] of wanted.entries()) {
      this.#options.signal.throwIfAborted()
      const content = contents[index] ?? null
      // It may have grown since it was listed.
      if (content === null || content.length > this.#limits.fileBytes || isBinary(content)) continue
      await this.#write(file, content)
    }
  }

  #admits({ path, bytes }: SourceFile): boolean {
    if (this.#taken.has(path)) return false
    this.#taken.add(path)
    if (bytes > this.#limits.fileBytes) {
      this.#tooLarge.push(path)
      return false
    }
    const fits = this.#admitted < this.#limits.files && this.#bytes + bytes <= this.#limits.bytes
    if (!fits) {
      this.#left += 1
      return false
    }
    this.#admitted += 1
    this.#bytes += bytes
    return true
  }

  async #write(file: SourceFile, content: Buffer): Promise<void> {
    const path = join(this.#options.into, ...file.path.split('/'))
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeFile(path, content, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      // Names that differ only in case, or that this system cannot hold.
      if (code !== 'EEXIST' && code !== 'ENOTDIR' && code !== 'ENAMETOOLONG' && code !== 'EINVAL') {
        throw error
      }
      return
    }
    this.files += 1
  }
}

function isBinary(content: Buffer): boolean {
  return content.subarray(0, 8_000).includes(0)
}

function mebibytes(bytes: number): string {
  return `${Math.round((bytes / 1024 / 1024) * 10) / 10} MiB`
}
