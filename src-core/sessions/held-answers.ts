import { accept } from '../../src-shared/refusal.ts'
import type { Committed, Committer } from '../commit/committer.ts'
import { releaseAnswer } from '../decide/question-answers.ts'
import { Backoff } from '../fleet/backoff.ts'
import { RETRY_MAX_MS, RETRY_MS, UNDO_MAX_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { Storage } from '../storage/port.ts'
import type { QuestionRow } from '../storage/rows.ts'
import { loadFacts } from './session-facts.ts'

type Held = { until: string; cancel: () => void }

/** Sends answers on their way when they can no longer be taken back. The rows are the timers: they survive a restart. */
export class HeldAnswers {
  readonly #ports: Pick<CorePorts, 'clock' | 'ids' | 'log'>
  readonly #committer: Committer
  readonly #held = new Map<string, Held>()
  readonly #backoff = new Backoff(RETRY_MS, RETRY_MAX_MS)
  #stopped = false

  constructor(ports: Pick<CorePorts, 'clock' | 'ids' | 'log'>, committer: Committer) {
    this.#ports = ports
    this.#committer = committer
  }

  async load(storage: Storage): Promise<void> {
    const where = { state: 'answered', inputId: null } as const
    for (const row of await storage.rows({ table: 'question', where })) this.#see(row)
  }

  committed({ rows, deletes }: Committed): void {
    for (const each of rows) if (each.table === 'question') this.#see(each.row)
    for (const { table, id } of deletes) if (table === 'question') this.#forget(id)
  }

  stop(): void {
    this.#stopped = true
    for (const id of [...this.#held.keys()]) this.#forget(id)
  }

  #see({ id, undoUntil }: Pick<QuestionRow, 'id' | 'undoUntil'>): void {
    if (this.#stopped || this.#held.get(id)?.until === undoUntil) return
    this.#forget(id)
    if (undoUntil === null) return
    const left = Date.parse(undoUntil) - Date.parse(this.#ports.clock.now())
    // The clock on the wall may have been set back since.
    this.#wait(id, undoUntil, Math.min(Math.max(0, left), UNDO_MAX_MS))
  }

  #wait(id: string, until: string, ms: number): void {
    const cancel = this.#ports.clock.after(ms, () => {
      this.#release(id, until).then(
        () => this.#backoff.reset(),
        (error: unknown) => {
          this.#ports.log.error('an answer is not sent yet', { question: id, error })
          if (!this.#stopped && this.#held.has(id)) this.#wait(id, until, this.#backoff.next())
        },
      )
    })
    this.#held.set(id, { until, cancel })
  }

  async #release(id: string, until: string): Promise<void> {
    await this.#committer.transact(async (read, now) => {
      const question = await read.row('question', id)
      const facts = question && (await loadFacts(read, question.sessionId))
      if (question === undefined || facts === undefined) {
        return accept({ change: null, answer: null })
      }
      const { change } = releaseAnswer({ facts, question }, until, now, this.#ports.ids)
      return accept({ change, answer: null })
    })
  }

  #forget(id: string): void {
    this.#held.get(id)?.cancel()
    this.#held.delete(id)
  }
}
