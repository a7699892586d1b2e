import type { Committed } from '../commit/committer.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { FINISH_MS, INTERRUPT_MS, LET_GO_MS, PARK_MS, STOP_MS } from '../limits.ts'
import type { Clock } from '../ports.ts'
import type { SessionRow } from '../storage/rows.ts'

const limits = {
  interrupt: INTERRUPT_MS,
  stop: STOP_MS,
  finish: FINISH_MS,
  continue: LET_GO_MS,
  park: PARK_MS,
} as const

/** Ends an agent that was told to interrupt, stop, finish, park or let go and does not: what a person asked for happens either way. */
export class PendingWatch {
  readonly #clock: Clock
  readonly #fleet: Fleet
  readonly #watched = new Map<string, { asked: string; cancel: () => void }>()

  constructor(clock: Clock, fleet: Fleet) {
    this.#clock = clock
    this.#fleet = fleet
  }

  committed({ rows, deletes }: Committed): void {
    for (const each of rows) if (each.table === 'session') this.#see(each.row)
    for (const { table, id } of deletes) if (table === 'session') this.#forget(id)
  }

  #see({ id, leaseId, pending: wanted, state }: SessionRow): void {
    const pending = state === 'parking' ? 'park' : wanted
    // One that is brought back is interrupted by not beginning what was to be interrupted.
    const isLater = pending === 'interrupt' && state !== 'working'
    if (leaseId === null || pending === null || isLater) {
      this.#forget(id)
      return
    }
    const asked = `${leaseId} ${pending}`
    if (this.#watched.get(id)?.asked === asked) return
    this.#forget(id)
    const cancel = this.#clock.after(limits[pending], () => {
      this.#watched.delete(id)
      this.#fleet.killHolder(leaseId, `did not ${pending} its session in time`)
    })
    this.#watched.set(id, { asked, cancel })
  }

  #forget(id: string): void {
    this.#watched.get(id)?.cancel()
    this.#watched.delete(id)
  }
}
