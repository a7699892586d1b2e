import { isDeepStrictEqual } from 'node:util'
import type { SessionId } from '../../src-shared/ids.ts'
import type { Session } from '../../src-shared/records.ts'
import { type Work, workIn } from '../support/work-in.ts'

type Known = { readonly turn: number; readonly work: Work }

/** What lay in the workspace of each session when nobody had said anything to it since, by hash. */
export class QuietWork {
  readonly #known = new Map<SessionId, Known>()

  isKnown({ id, turn }: Session): boolean {
    return this.#known.get(id)?.turn === turn
  }

  /** What is not as it was, of those that were left alone; all of them are looked at for the next time. */
  async faults(sessions: readonly Session[], quiet: ReadonlySet<SessionId>): Promise<string[]> {
    const faults: string[] = []
    for (const session of sessions) {
      const { id, ticket, state, workspace, turn } = session
      // Who was told to finish may have committed, also where that was cut, and is looked at when it waits again.
      if (!quiet.has(id) || state === 'finished' || state === 'cancelled') this.#known.delete(id)
      if (state !== 'waiting' || workspace === null) continue
      const work = await workIn(workspace)
      const before = this.#known.get(id)
      if (quiet.has(id) && before?.turn === turn) {
        for (const [what, value] of Object.entries(before.work)) {
          const now = Object.entries(work).find(([name]) => name === what)?.[1]
          if (isDeepStrictEqual(value, now)) continue
          faults.push(`${ticket}: ${what} was ${show(value)}, is ${show(now)}`)
        }
      }
      this.#known.set(id, { turn, work })
    }
    return faults
  }
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 600) ?? 'nothing'
}
