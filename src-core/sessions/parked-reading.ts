import type { AgentItem } from '../../src-shared/agent-wire.ts'
import type { LeaseId } from '../../src-shared/ids.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Committer } from '../commit/committer.ts'
import type { CorePorts } from '../ports.ts'
import type { Batch } from './batches.ts'

type Parked = Extract<AgentItem, { type: 'parked' }>

/**
 * Reads what an agent kept to its end before Core stores that it is kept: once that is stored, the agent removes the
 * workspace.
 */
export class ParkedReading {
  readonly #kept: CorePorts['kept']
  readonly #committer: Committer
  readonly #read = new WeakSet<Parked>()

  constructor(kept: CorePorts['kept'], committer: Committer) {
    this.#kept = kept
    this.#committer = committer
  }

  /** Whether there is parked work among them that was not read yet. */
  isUnread(batches: readonly Batch[]): boolean {
    return this.#unread(batches).length > 0
  }

  /** Refused where a file of it is not what the agent said. */
  async read(id: LeaseId, batches: readonly Batch[]): Promise<Result<undefined>> {
    const lease = await this.#committer.cache.row('lease', id)
    if (lease === undefined) return refuse('lease.not-found', `There is no lease ${id}.`)
    for (const item of this.#unread(batches)) {
      const verified = await this.#kept.verify(lease.sessionId, item.work.files)
      if (!verified.ok) return verified
      this.#read.add(item)
    }
    return accept(undefined)
  }

  #unread(batches: readonly Batch[]): Parked[] {
    return batches.flatMap(({ items }) =>
      items.filter((item) => item.type === 'parked').filter((item) => !this.#read.has(item)),
    )
  }
}
