import type { Agent } from '../../src-shared/records.ts'
import type { RowCache } from '../commit/row-cache.ts'
import { type Fleet, viewAgent } from './fleet.ts'

/** The agents as clients see them, with the tickets that they work on. */
export class AgentViews {
  readonly #fleet: Fleet
  readonly #cache: RowCache

  constructor(fleet: Fleet, cache: RowCache) {
    this.#fleet = fleet
    this.#cache = cache
  }

  list(): Promise<Agent[]> {
    return Promise.all(
      this.#fleet.slots.map(async (slot) => {
        const id = slot.hold?.session
        const session = id && (await this.#cache.row('session', id))
        const ticket = session && (await this.#cache.row('ticket', session.ticketId))
        return viewAgent(slot, ticket?.key ?? null)
      }),
    )
  }
}
