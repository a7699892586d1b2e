import type { Told } from './notices.ts'

/** So many messages of one server that cannot be read are told. */
const TOLD = 50

/** What a server sends that Ballet cannot read. A program that does so for ever must not fill the timeline. */
export class Strange {
  readonly #kinds = new Set<string>()
  #count = 0

  /** Something of a kind that the driver does not know: told once for each kind. */
  unknown(what: string): Told | null {
    if (this.#kinds.has(what)) return null
    this.#kinds.add(what)
    const text = `Codex sent something that Ballet does not know: ${what.slice(0, 200)}`
    return this.#limited({ level: 'info', code: 'runtime.unknown', text })
  }

  garbage(line: string): Told | null {
    const text = `Codex printed a line that is no message: ${line.slice(0, 1_000)}`
    return this.#limited({ level: 'warning', code: 'runtime.garbage', text })
  }

  oversized(head: string, bytes: number): Told | null {
    const text = `Codex printed a line of ${bytes} bytes, which is too long and was left out. It begins: ${head}`
    return this.#limited({ level: 'warning', code: 'runtime.oversized', text })
  }

  #limited(told: Told): Told | null {
    this.#count += 1
    if (this.#count <= TOLD) return told
    if (this.#count > TOLD + 1) return null
    const text = `Codex sent ${TOLD} messages that Ballet cannot read; what more of them come is not shown.`
    return { level: 'warning', code: 'runtime.strange', text }
  }
}
