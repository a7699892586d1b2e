import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { isAbsolute, join, posix, relative, sep } from 'node:path'
import type { Outside } from './gather-sources.ts'

/** What a citation names: under which name people know the source, and its text; null where it is no source. */
export type Cited = { source: string; text: string | null }

/** Reads the sources that an answer cites: whatever it calls them, nothing outside their folder. */
export class CitedSources {
  readonly #root: string
  readonly #outside: readonly Outside[]

  /** `root`: the folder that the sources were copied to. */
  constructor(root: string, outside: readonly Outside[]) {
    this.#root = root
    this.#outside = outside
  }

  async read(source: string): Promise<Cited> {
    // With a line behind it, as in `docs/a.md:12`, when there is no file of that whole name.
    for (const name of new Set([source, source.replace(/:\d+(?:[-–:]\d+)?$/, '')])) {
      const path = this.#pathOf(name)
      const text = path === null ? null : await this.#textOf(path)
      if (path !== null && text !== null) return { source: this.#nameOf(path), text }
    }
    return { source, text: null }
  }

  /** Relative to the root, with `/`; null for what leads out of it. */
  #pathOf(source: string): string | null {
    const given = source.trim()
    if (given === '' || given.includes('\0')) return null
    if (!isAbsolute(given)) return inside(given.split(sep).join('/'))
    const own = relative(this.#root, given)
    if (own !== '' && !isAbsolute(own) && inside(own) !== null) return inside(own)
    for (const { at, path } of this.#outside) {
      const below = relative(path, given)
      const kept = isAbsolute(below) ? null : inside(below.split(sep).join('/'))
      if (kept !== null) return `${at}/${kept}`
    }
    return null
  }

  #nameOf(path: string): string {
    const [top = ''] = path.split('/', 1)
    const outside = this.#outside.find(({ at }) => at === top)
    return outside === undefined ? path : join(outside.path, path.slice(top.length + 1))
  }

  async #textOf(path: string): Promise<string | null> {
    let file: FileHandle | undefined
    try {
      const root = await realpath(this.#root)
      const real = await realpath(join(root, ...path.split('/')))
      if (!real.startsWith(root + sep)) return null
      file = await open(real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
      return (await file.stat()).isFile() ? await file.readFile('utf8') : null
    } catch {
      return null
    } finally {
      await file?.close()
    }
  }
}

function inside(path: string): string | null {
  const plain = posix.normalize(path)
  const leads = plain === '.' || plain === '..' || plain.startsWith('../') || plain.startsWith('/')
  return leads ? null : plain
}
