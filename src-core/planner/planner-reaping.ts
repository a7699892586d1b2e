import { accept } from '../../src-shared/refusal.ts'
import type { Committed, Committer } from '../commit/committer.ts'
import { changeOf } from '../decide/change.ts'
import { Backoff } from '../fleet/backoff.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { REAP_PROBE_MS, RETRY_MAX_MS, RETRY_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { Storage } from '../storage/port.ts'
import type { QuestionRow } from '../storage/rows.ts'

type Left = Pick<QuestionRow, 'id' | 'sessionId' | 'nonce'>

/** Ends what runs of the planner left behind, by their markers and verified. The rows say what is left to do. */
export class PlannerReaping {
  readonly #ports: Pick<CorePorts, 'clock' | 'log'>
  readonly #committer: Committer
  readonly #fleet: Fleet
  readonly #left = new Map<string, Left>()
  readonly #backoff = new Backoff(RETRY_MS, RETRY_MAX_MS)
  #isBusy = false
  #isStopped = false

  constructor(
    ports: Pick<CorePorts, 'clock' | 'log'>,
    parts: { committer: Committer; fleet: Fleet },
  ) {
    this.#ports = ports
    this.#committer = parts.committer
    this.#fleet = parts.fleet
  }

  async load(storage: Storage): Promise<void> {
    for (const row of await storage.rows({ table: 'question', where: { planner: 'left' } })) {
      this.#left.set(row.id, row)
    }
  }

  committed({ rows, deletes }: Committed): void {
    for (const each of rows) {
      if (each.table !== 'question') continue
      if (each.row.planner === 'left') this.#left.set(each.row.id, each.row)
      else this.#left.delete(each.row.id)
    }
    for (const { table, id } of deletes) if (table === 'question') this.#left.delete(id)
    this.look()
  }

  /** Looks again; there may be something left, or an agent that was not there before. */
  look(): void {
    if (this.#isBusy || this.#isStopped || this.#left.size === 0 || !this.#fleet.anyUp) return
    this.#isBusy = true
    this.#reap([...this.#left.values()]).then(
      (isDone) => {
        this.#isBusy = false
        if (isDone) {
          this.#backoff.reset()
          this.look()
        } else this.#later()
      },
      (error: unknown) => {
        this.#isBusy = false
        this.#ports.log.error('that runs of the planner are gone could not be stored', { error })
        this.#later()
      },
    )
  }

  stop(): void {
    this.#isStopped = true
  }

  async #reap(left: readonly Left[]): Promise<boolean> {
    const markers = left.map(({ sessionId, nonce }) => ({ session: sessionId, nonce }))
    const found = await this.#fleet.ask({ kind: 'reap', markers }, REAP_PROBE_MS)
    if (!found.ok) {
      this.#ports.log.error('runs of the planner could not be ended', found.refusal)
      return false
    }
    await this.#committer.transact(async (read) => {
      const rows: QuestionRow[] = []
      for (const { id } of left) {
        const row = await read.row('question', id)
        if (row?.planner === 'left') rows.push({ ...row, planner: 'over' })
      }
      const puts = rows.map((row) => ({ table: 'question' as const, row }))
      return accept({ answer: null, change: puts.length === 0 ? null : changeOf({ puts }) })
    })
    return true
  }

  #later(): void {
    this.#ports.clock.after(this.#backoff.next(), () => this.look())
  }
}
