import type { Committed, Committer } from '../commit/committer.ts'
import type { Clock } from '../ports.ts'
import type { StoredRow } from '../storage/rows.ts'

type Session = StoredRow<'session'>

/** Waits of calls for what becomes of a session; each has a limit. */
export class SessionWaits {
  readonly #clock: Clock
  readonly #committer: Committer
  readonly #waits = new Set<{ id: string; look: () => void }>()

  constructor(clock: Clock, committer: Committer) {
    this.#clock = clock
    this.#committer = committer
  }

  committed({ rows, deletes }: Committed): void {
    const ids = new Set<string>()
    for (const { table, row } of rows) if (table === 'session') ids.add(row.id)
    for (const { table, id } of deletes) if (table === 'session') ids.add(id)
    for (const wait of [...this.#waits]) if (ids.has(wait.id)) wait.look()
  }

  /** As soon as it is so, or as it is at the limit; undefined when it is gone. */
  async until(
    id: string,
    isSo: (session: Session) => boolean,
    limitMs: number,
  ): Promise<Session | undefined> {
    let isLate = false
    for (;;) {
      let wake: () => void = () => undefined
      const changed = new Promise<void>((resolve) => {
        wake = resolve
      })
      const wait = { id, look: wake }
      this.#waits.add(wait)
      const cancel = this.#clock.after(limitMs, () => {
        isLate = true
        wake()
      })
      try {
        const row = await this.#committer.cache.row('session', id)
        if (row === undefined || isLate || isSo(row)) return row
        await changed
      } finally {
        cancel()
        this.#waits.delete(wait)
      }
    }
  }
}
