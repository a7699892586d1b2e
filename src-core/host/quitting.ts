import { createRouterClient } from '@orpc/server'
import type { AgentId, SessionId, TicketKey } from '../../src-shared/ids.ts'
import type { Clock, Ids, Log } from '../ports.ts'
import type { Router } from '../router/router.ts'

/** A session that still holds an agent. */
export type Holding = { agent: AgentId; session: SessionId; ticket: TicketKey }

/** What a quit needs of a host that runs. */
export type HostDrain = {
  drain(how: 'gently' | 'fast' | 'cancel'): Promise<void>
  holding(): Promise<Holding[]>
}

/**
 * How a quit ended: no session holds an agent any more; some do, because there was no time left or they could not be
 * asked to park, and go on at the next start as after a crash; or somebody took it back.
 */
export type Left = 'drained' | 'late' | 'cancelled'

export type Quitting = {
  /** Parks every session; said again it hurries the quit that goes on. Never rejects. */
  leave(how: 'gently' | 'fast'): Promise<Left>
  /** Agents take sessions again. Nothing happens once the quit is over. */
  cancel(): void
}

/** How often it is looked whether an agent still holds a session. */
const LOOK_MS = 200
/** The fast way: of the ten seconds that a system gives, some are left for the host's own end. */
export const FAST_LIMIT_MS = 7_500

type QuittingPorts = {
  host: HostDrain
  clock: Pick<Clock, 'after'>
  log: Log
  /** Told whenever another set of sessions holds agents. */
  onHolding?: (holding: readonly Holding[]) => void
}

/** The end of a host in order: first every session is parked, gently or fast; then it may be closed. */
export function createQuitting(ports: QuittingPorts): Quitting {
  let current: Quit | undefined
  return {
    leave: (how) => {
      if (current === undefined) {
        const quit = new Quit(ports)
        current = quit
        void quit.left.then((left) => {
          if (left === 'cancelled') current = undefined
        })
      }
      current.say(how)
      return current.left
    },
    cancel: () => current?.cancel(),
  }
}

class Quit {
  readonly left: Promise<Left>
  readonly #ports: QuittingPorts
  #settle: (left: Left) => void = () => undefined
  #isOver = false
  #isFast = false
  #said: Promise<void> = Promise.resolve()
  #isBegun = false
  #shown = ''
  #timers = new Set<() => void>()

  constructor(ports: QuittingPorts) {
    this.#ports = ports
    this.left = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  say(how: 'gently' | 'fast'): void {
    const isFirst = !this.#isBegun
    if (this.#isOver || this.#isFast || (how === 'gently' && !isFirst)) return
    this.#isBegun = true
    if (how === 'fast') {
      this.#isFast = true
      this.#after(FAST_LIMIT_MS, () => this.#end('late'))
    }
    this.#said = this.#said
      .then(() => this.#ports.host.drain(how))
      .then(
        () => {
          if (isFirst) void this.#look()
        },
        (error: unknown) => {
          this.#ports.log.error('the sessions could not be asked to park', { error })
          this.#end('late')
        },
      )
  }

  cancel(): void {
    if (this.#isOver) return
    this.#end('cancelled')
    this.#said
      .then(() => this.#ports.host.drain('cancel'))
      .catch((error: unknown) =>
        this.#ports.log.error('a drain could not be taken back', { error }),
      )
  }

  async #look(): Promise<void> {
    let holding: readonly Holding[]
    try {
      holding = await this.#ports.host.holding()
    } catch (error) {
      this.#ports.log.error('who still holds an agent is not known', { error })
      return this.#end('late')
    }
    if (this.#isOver) return
    if (holding.length === 0) return this.#end('drained')
    const shown = holding.map(({ session }) => session).join(' ')
    if (shown !== this.#shown) this.#ports.onHolding?.(holding)
    this.#shown = shown
    this.#after(LOOK_MS, () => void this.#look())
  }

  #after(ms: number, then: () => void): void {
    const cancel = this.#ports.clock.after(ms, () => {
      this.#timers.delete(cancel)
      then()
    })
    this.#timers.add(cancel)
  }

  #end(left: Left): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const cancel of this.#timers) cancel()
    this.#settle(left)
  }
}

/** The drain of a host over its own router. */
export function hostDrain(router: Router, ids: Pick<Ids, 'uuid'>): HostDrain {
  const client = createRouterClient(router)
  return {
    drain: async (how) => {
      await client.agents.drain({ how, quits: true, commandId: ids.uuid() })
    },
    holding: async () =>
      (await client.agents.list()).flatMap(({ id, session, ticket }) =>
        session === null || ticket === null ? [] : [{ agent: id, session, ticket }],
      ),
  }
}
