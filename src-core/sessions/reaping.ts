import { accept, type Result } from '../../src-shared/refusal.ts'
import type { Committer } from '../commit/committer.ts'
import { changeOf } from '../decide/change.ts'
import { Backoff } from '../fleet/backoff.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { REAP_PROBE_MS, RETRY_MAX_MS, RETRY_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { LeaseRow } from '../storage/rows.ts'
import type { LiveIndex } from './live-index.ts'
import type { Problems } from './problems.ts'

const PROBLEM = 'reap'

/** The most markers of one probe. */
const MARKERS = 500

/**
 * Ends what the processes of ended leases left running, by their markers and verified. No session is brought back
 * before that, and no lease is forgotten: the rows say what is left to do.
 */
export class Reaping {
  readonly #ports: Pick<CorePorts, 'clock' | 'log'>
  readonly #committer: Committer
  readonly #index: LiveIndex
  readonly #fleet: Fleet
  readonly #problems: Problems
  readonly #backoff = new Backoff(RETRY_MS, RETRY_MAX_MS)
  #busy = false
  #stopped = false

  constructor(
    ports: Pick<CorePorts, 'clock' | 'log'>,
    parts: { committer: Committer; index: LiveIndex; fleet: Fleet; problems: Problems },
  ) {
    this.#ports = ports
    this.#committer = parts.committer
    this.#index = parts.index
    this.#fleet = parts.fleet
    this.#problems = parts.problems
  }

  /** Looks again; there may be an ended lease or an agent that was not there before. */
  look(): void {
    if (this.#busy || this.#stopped || !this.#fleet.anyUp) return
    const leases = this.#index.unreaped.slice(0, MARKERS)
    if (leases.length === 0) {
      // The last of them may have been ended by somebody else who asked for it.
      this.#problems.clear(PROBLEM)
      return
    }
    this.#busy = true
    this.#reapAll(leases).then(
      (done) => {
        this.#busy = false
        if (done) {
          this.#backoff.reset()
          this.#problems.clear(PROBLEM)
          this.look()
        } else this.#later()
      },
      (error: unknown) => {
        this.#busy = false
        this.#ports.log.error('that processes are gone could not be stored', { error })
        this.#later()
      },
    )
  }

  stop(): void {
    this.#stopped = true
  }

  /** All at once; where that fails each by itself, so that one cannot keep back the others. */
  async #reapAll(leases: readonly LeaseRow[]): Promise<boolean> {
    if (await this.reap(leases)) return true
    if (leases.length === 1) return false
    let done = true
    for (const lease of leases) if (!(await this.reap([lease]))) done = false
    return done
  }

  /** Ends and verifies; false when that was not possible, which is then a problem of the host. */
  async reap(leases: readonly LeaseRow[]): Promise<boolean> {
    return (await this.attempt(leases)).ok
  }

  /** As `reap`, with what was said by who was asked, or that nobody was. */
  async attempt(leases: readonly LeaseRow[]): Promise<Result<undefined>> {
    if (leases.length === 0) return accept(undefined)
    const found = await this.#fleet.ask(
      {
        kind: 'reap',
        markers: leases.map(({ sessionId, nonce }) => ({ session: sessionId, nonce })),
      },
      REAP_PROBE_MS,
    )
    if (!found.ok) {
      this.#ports.log.error('processes of ended sessions could not be ended', found.refusal)
      this.#problems.set(PROBLEM, {
        code: 'session.not-reaped',
        message: `Processes of ended sessions may still run: ${found.refusal.message}`,
        hint: 'Their sessions wait until it is certain that they are gone. It is tried again.',
      })
      return found
    }
    if (found.value.ended.length > 0) {
      this.#ports.log.info('ended what was left running', { processes: found.value.ended })
    }
    await this.#committer.transact(async (read) => {
      const rows: LeaseRow[] = []
      for (const { id } of leases) {
        const row = await read.row('lease', id)
        if (row !== undefined && !row.reaped) rows.push({ ...row, reaped: true })
      }
      return accept({
        answer: null,
        change:
          rows.length === 0
            ? null
            : changeOf({ puts: rows.map((row) => ({ table: 'lease', row })) }),
      })
    })
    return accept(undefined)
  }

  #later(): void {
    this.#ports.clock.after(this.#backoff.next(), () => this.look())
  }
}
