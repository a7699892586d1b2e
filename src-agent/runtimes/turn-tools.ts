import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessIdentity } from '../../src-shared/agent-wire.ts'
import {
  endProcesses,
  identityKey,
  isRunning,
  type Marker,
  processesWith,
} from '../process-tree/index.ts'

/** How long a runtime may take to end its tools after an interrupt; what is left of a second is for ending them. */
const TOOLS_MS = 150
const END_SOON = { limitMs: 10_000 }

/** The processes that a turn's tools started, as those of the session that did not run before the turn. */
export class TurnTools {
  readonly #marker: Marker
  #helpers = new Set<string>()

  constructor(marker: Marker) {
    this.#marker = marker
  }

  /** Between turns: everything that runs now is the runtime's own, and an interrupt leaves it. */
  async rememberHelpers(): Promise<void> {
    const found = await processesWith([this.#marker])
    this.#helpers = new Set(found.map(identityKey))
  }

  /**
   * Gives the runtime a moment to end them itself (`isOver` says that its turn is over), then ends what is left.
   * Rejects with `processes.survived`.
   */
  async sweep(isOver: () => boolean): Promise<void> {
    const begin = performance.now()
    // One that dropped its environment cannot be found any more when its parent is gone: what is seen now counts.
    const seen = await this.#running()
    const left = async () => {
      const running = await Promise.all(seen.map(isRunning))
      return [...seen.filter((_, index) => running[index]), ...(await this.#running())]
    }
    while (performance.now() - begin < TOOLS_MS) {
      if (isOver() && (await left()).length === 0) return
      await sleep(25)
    }
    await endProcesses(left, END_SOON)
  }

  async #running(): Promise<ProcessIdentity[]> {
    const found = await processesWith([this.#marker])
    return found.filter((identity) => !this.#helpers.has(identityKey(identity)))
  }
}
