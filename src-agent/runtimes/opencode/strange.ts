import type { Instant } from '../../../src-shared/ids.ts'
import type { DriverSignal } from '../driver.ts'
import type { EntryMaker } from './entries.ts'

/** So many events of one server that cannot be read are told. */
const TOLD = 50

/** What a server tells that Ballet cannot read. One that does so for ever must not fill the timeline. */
export class Strange {
  readonly #entries: EntryMaker
  readonly #types = new Set<string>()
  #count = 0

  constructor(entries: EntryMaker) {
    this.#entries = entries
  }

  /** An event of a type that the driver does not know: told once for each type. */
  unknown(type: string, at: Instant): DriverSignal[] {
    if (this.#types.has(type)) return []
    this.#types.add(type)
    const text = `opencode told an event of a kind that Ballet does not know: ${type.slice(0, 200)}`
    return this.#tell(at, 'info', 'runtime.unknown', text)
  }

  garbage(text: string, at: Instant): DriverSignal[] {
    const shown = `opencode told an event that cannot be read: ${text.slice(0, 1_000)}`
    return this.#tell(at, 'warning', 'runtime.garbage', shown)
  }

  oversized(head: string, bytes: number, at: Instant): DriverSignal[] {
    const shown = `opencode told an event of ${bytes} bytes, which is too long and was left out. It begins: ${head}`
    return this.#tell(at, 'warning', 'runtime.oversized', shown)
  }

  #tell(at: Instant, level: 'info' | 'warning', code: string, text: string): DriverSignal[] {
    this.#count += 1
    if (this.#count <= TOLD) return [this.#entries.notice(at, level, code, text)]
    if (this.#count > TOLD + 1) return []
    const more = `opencode told ${TOLD} events that Ballet cannot read; what more of them come is not shown.`
    return [this.#entries.notice(at, 'warning', 'runtime.strange', more)]
  }
}
