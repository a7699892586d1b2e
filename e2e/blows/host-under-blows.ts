import { setTimeout as sleep } from 'node:timers/promises'
import { ORPCError } from '@orpc/client'
import { Refusal } from '../../src-shared/refusal.ts'
import type { BalletClient } from '../support/ballet-client.ts'
import type { DesktopApp } from '../support/desktop-app.ts'
import { startServing } from '../support/headless-host.ts'
import { doInMain } from '../support/main-process.ts'
import type { Workbench } from '../support/workbench.ts'
import type { BlowLog } from './log.ts'

/** One life of a host. */
export type Life = {
  readonly client: BalletClient
  readonly pid: number
  readonly app?: DesktopApp
  kill(): Promise<void>
  /** As a person ends it. */
  end(): Promise<void>
  isRunning(): boolean
  stderr(): string
}

export type Answer<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

export type HostKind = 'headless' | 'desktop'

export type HostUnderBlowsOptions = {
  readonly kind: HostKind
  readonly agents: number
  /** What may keep a host from starting, so that it is to be tried again: whether it does now, and how often it began. */
  readonly shortage?: { readonly isOn: boolean; readonly times: number }
}

/** How long a host may be away before a call that waits for it is lost. */
const AWAY_LIMIT_MS = 45_000

/** A host that is killed and started again on one data folder, and a way to call it through all of that. */
export class HostUnderBlows {
  readonly #bench: Workbench
  readonly #log: BlowLog
  readonly #options: HostUnderBlowsOptions
  #life: Life | null = null
  /** Deaths and starts, one after the other. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(bench: Workbench, log: BlowLog, options: HostUnderBlowsOptions) {
    this.#bench = bench
    this.#log = log
    this.#options = options
  }

  /** The running host; null while none serves. */
  get life(): Life | null {
    return this.#life?.isRunning() === true ? this.#life : null
  }

  /** Makes a host run, after every death that is under way. */
  up(): Promise<Life> {
    return this.#inTurn(async () => {
      if (this.#life?.isRunning() === true) return this.#life
      this.#life = await this.#beginSometime()
      this.#log.say(`the host serves (${this.#life.pid})`)
      return this.#life
    })
  }

  /** Ends the host in this way, stays away for a while, and starts it again. */
  async down(how: 'kill' | 'end', awayMs: number): Promise<void> {
    await this.#inTurn(async () => {
      const life = this.#life
      if (life?.isRunning() !== true) return
      this.#life = null
      this.#log.say(`${how === 'kill' ? 'kill -9 of' : 'an orderly end of'} the host ${life.pid}`)
      await (how === 'kill' ? life.kill() : life.end())
      await sleep(awayMs)
    })
    await this.up()
  }

  /** Kills the host, and the next one while it starts. */
  async downTwice(startMs: number): Promise<void> {
    await this.#inTurn(async () => {
      const life = this.#life
      if (life?.isRunning() !== true) return
      this.#life = null
      this.#log.say(`kill -9 of the host ${life.pid}, and of the next after ${startMs} ms`)
      await life.kill()
      const { dataDir, env } = this.#bench
      const next = startServing({ dataDir, env, agents: this.#options.agents })
      await sleep(startMs)
      next.child.kill('SIGKILL')
      await next.exited
    })
    await this.up()
  }

  /**
   * Asks the host; while it is away, and when it dies under the question, asks again. So `ask` must be a question that
   * may be asked twice.
   * @throws Error when no host answers within the limit
   */
  async call<T>(what: string, ask: (client: BalletClient) => Promise<T>): Promise<Answer<T>> {
    const deadline = performance.now() + AWAY_LIMIT_MS
    for (;;) {
      const { life } = this
      try {
        if (life !== null) return { kind: 'done', value: await ask(life.client) }
      } catch (error) {
        const refusal = refusalIn(error)
        // What there is no room for now is asked again, like what the host could not answer. A refusal that came
        // while it went down may be of the going down.
        const isForGood = refusal !== undefined && refusal.code !== 'storage.full'
        if (isForGood && this.life === life) return { kind: 'refused', refusal }
        if (error instanceof ORPCError && refusal === undefined && this.life === life) throw error
      }
      if (performance.now() > deadline) throw new Error(`No host answered: ${what}`)
      await sleep(20)
    }
  }

  /** As `call`, for what is never refused. */
  async ask<T>(what: string, ask: (client: BalletClient) => Promise<T>): Promise<T> {
    const answer = await this.call(what, ask)
    if (answer.kind === 'done') return answer.value
    throw new Error(`${what} was refused: ${JSON.stringify(answer.refusal)}`)
  }

  async #beginSometime(): Promise<Life> {
    const deadline = performance.now() + AWAY_LIMIT_MS
    for (;;) {
      const { isOn = false, times = 0 } = this.#options.shortage ?? {}
      try {
        return await this.#begin()
      } catch (error) {
        const cameUp = (this.#options.shortage?.times ?? 0) > times
        if (!(isOn || cameUp) || performance.now() > deadline) throw error
        const [why = ''] = error instanceof Error ? error.message.split('\n').slice(1) : []
        this.#log.say(`the host does not start: ${why.slice(0, 200)}`)
        await sleep(100)
      }
    }
  }

  async #begin(): Promise<Life> {
    if (this.#options.kind === 'headless') {
      const host = await this.#bench.host({ agents: this.#options.agents })
      return { ...host, end: async () => void (await host.stop()) }
    }
    const app = await this.#bench.desktop()
    // A window that crashed asks what to do; the answer is to load it again.
    await doInMain(app.app, ({ dialog }) => {
      dialog.showMessageBox = async () => ({ response: 0, checkboxChecked: false })
    })
    return {
      app,
      client: await app.client(),
      pid: app.pid,
      kill: app.kill,
      end: app.quit,
      isRunning: app.isRunning,
      stderr: () => '',
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }
}

function refusalIn(error: unknown): Refusal | undefined {
  if (!(error instanceof ORPCError) || error.code !== 'REFUSED') return undefined
  return Refusal.safeParse(error.data).data
}
