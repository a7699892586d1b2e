import { mkdir } from 'node:fs/promises'
import type { Delivery, ProcessIdentity } from '../../src-shared/agent-wire.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { Pressure } from '../port/outgoing.ts'
import { within } from '../port/within.ts'
import { endGit, processesWith } from '../process-tree/index.ts'
import type { Driver, ResumeFacts } from '../runtimes/driver.ts'
import { refusalOf } from '../workspace/failure.ts'
import { removeTree } from '../workspace/folders.ts'
import { BalletTools } from './ballet-tools.ts'
import { finishWork, hasWorkspace, notYielded, stopWork } from './closing.ts'
import { type ContextOptions, createContext, type LoopContext, timed } from './context.ts'
import { Conversation } from './conversation.ts'
import { CrashLimit } from './crash-limit.ts'
import { isWorkspaceThere } from './missing-workspace.ts'
import { Parking, type ParkOrder, removeCutParking } from './parking.ts'
import { executableOf, prepareWorkspace, replaceWorkspace } from './prepare.ts'
import { restoreConversation, tellOtherVersion } from './restored-conversation.ts'
import { RUNTIME_LIMITS, wasKilledInStart } from './runtime-keeper.ts'
import type { RuntimeLoss } from './runtime-loss.ts'

/**
 * preparing: workspace, setup and first launch · launching: the runtime is brought back · online: it runs ·
 * down: it does not, and comes back with the next delivery · closing: finish, stop, park or release is under way.
 */
type Phase = 'preparing' | 'launching' | 'online' | 'down' | 'closing' | 'ended'

/** How long a turn may take to end when there is no time. */
const FAST_INTERRUPT_MS = 2_000

/** How long work that was told to stop may take to notice. */
const YIELD_LIMIT_MS = 15_000

/** Runs one session under one lease, from its workspace to its last item. */
export class SessionLoop {
  readonly #context: LoopContext
  readonly #driver: Driver
  readonly #conversation: Conversation
  readonly #tools: BalletTools
  readonly #crashes: CrashLimit
  readonly #onEnded: () => void
  #phase: Phase = 'preparing'
  /** What prepares or launches now; never rejects. */
  #work: Promise<void> = Promise.resolve()
  #aborter = new AbortController()
  /** Null before the workspace was prepared. */
  #executable: string | null = null
  /** What parks the session now. */
  #parking: Parking | null = null
  /** A finish is under way: a stop takes its place. */
  #isFinishing = false
  /** A stop was asked for, of which a second one gives up the push. */
  #stopAsked: AbortController | null = null
  /** Asked for while a finish or a parking was under way. */
  #next: 'stop' | 'release' | ParkOrder | null = null

  constructor(
    options: ContextOptions & {
      driver: Driver
      onEnded: () => void
      /** A runtime is up, or is gone. */
      onRuntime: () => void
    },
  ) {
    this.#context = createContext(options)
    this.#driver = options.driver
    this.#onEnded = options.onEnded
    this.#crashes = new CrashLimit(this.#context.clock)
    this.#conversation = new Conversation({
      context: this.#context,
      driver: options.driver,
      onRuntime: options.onRuntime,
      onLost: (loss) => this.#onLost(loss),
      onNeeded: () => {
        if (this.#phase === 'down') this.#relaunch()
      },
      onNowhere: () => {
        if (this.#phase === 'online') this.#relaunch()
      },
    })
    this.#tools = new BalletTools(this.#context, this.#conversation)
  }

  /** Begins; call once. With the task to park it waits for the order, and no runtime is started. */
  start(): void {
    if (this.#context.spec.task === 'park') this.#phase = 'down'
    else this.#work = this.#prepare()
  }

  get isEnded(): boolean {
    return this.#phase === 'ended'
  }

  deliver(delivery: Delivery): void {
    if (!this.isEnded) this.#conversation.deliver(delivery)
  }

  interrupt(): void {
    this.#conversation.interrupt()
  }

  answerRequest(...answer: Parameters<Conversation['answerRequest']>): void {
    if (!this.isEnded) this.#conversation.answerRequest(...answer)
  }

  answerCall(...answer: Parameters<BalletTools['answer']>): void {
    this.#tools.answer(...answer)
  }

  /** Commits, pushes, removes the workspace, ends. Where that cannot be, the session goes on. */
  async finish(message: string): Promise<void> {
    if (!this.#beginClosing()) return
    this.#isFinishing = true
    try {
      await this.#halt('interrupted')
      const { kept } = await finishWork(this.#context, message, this.#aborter.signal)
      await this.#end('finished', kept)
    } catch (error) {
      await this.#goOn('finish', refusalOf(error, 'finishing the session'))
    }
  }

  /**
   * Keeps everything that another lease needs to go on, removes the workspace, ends. Where that cannot be, the
   * session goes on. Asked again with `fast`, it hurries.
   */
  async park(order: ParkOrder): Promise<void> {
    if (this.#phase === 'closing') {
      if (this.#parking === null) this.#next ??= order
      else if (order.fast) this.#parking.hurry()
    }
    const wasWorking = this.#conversation.turns.isRunning
    if (!this.#beginClosing()) return
    const parking = new Parking(this.#context, this.#driver, this.#conversation, order)
    this.#parking = parking
    try {
      const limitMs = order.fast ? FAST_INTERRUPT_MS : undefined
      const inWords = () =>
        wasWorking ? 'The turn was interrupted, the runtime ended.' : 'Nothing runs any more.'
      await parking.step('settle', () => this.#halt('interrupted', limitMs), inWords)
      const work = await parking.keep(this.#aborter.signal)
      const isStored = await parking.store(work, this.#aborter.signal)
      if (isStored) await this.#end('parked', await parking.free(work))
      else await this.#end(this.#next === 'release' ? 'released' : 'parked')
    } catch (error) {
      this.#parking = null
      await this.#goOn('park', refusalOf(error, 'parking the session'))
    }
  }

  /** What was asked for cannot be: the session is as it was, and its runtime comes back when it is needed. */
  async #goOn(what: 'finish' | 'park', refusal: Refusal): Promise<void> {
    if (this.isEnded) return
    timed(this.#context, { type: 'refused', what, refusal })
    this.#phase = 'down'
    this.#isFinishing = false
    this.#aborter = new AbortController()
    const next = this.#next
    this.#next = null
    // Beside what could not be ended no other runtime may be started.
    if (refusal.code === 'processes.survived') await this.#fail(refusal)
    else if (next === null) this.#conversation.pump()
    else if (next === 'stop') await this.#stop()
    else if (next === 'release') await this.release()
    else await this.park(next)
  }

  /**
   * Interrupts, pushes a snapshot, keeps the workspace, ends. A finish that is under way is given up for it. Asked
   * again, it pushes nothing that is not pushed by then.
   */
  async stop(): Promise<void> {
    if (this.#stopAsked === null) this.#stopAsked = new AbortController()
    else this.#stopAsked.abort()
    await this.#stop()
  }

  async #stop(): Promise<void> {
    if (this.#phase === 'closing') {
      this.#next ??= 'stop'
      if (this.#isFinishing) this.#aborter.abort()
    }
    if (!this.#beginClosing()) return
    const refusal = await this.#haltAsFarAsPossible('interrupted')
    // Until the runtime is up the workspace holds what is kept of it: a push would replace that on the branch.
    const isAsKept = this.#context.spec.parked?.restored === false && !this.#conversation.wasReady
    const limits = { signal: this.#aborter.signal, atOnce: this.#stopAsked?.signal }
    const notPushed = isAsKept ? undefined : await stopWork(this.#context, limits)
    await this.#end('stopped', undefined, refusal ?? notPushed)
  }

  /** Ends the runtime's tree and lets go; nothing is pushed or removed. */
  async release(): Promise<void> {
    if (this.#phase === 'closing') {
      this.#next = 'release'
      this.#aborter.abort()
    }
    if (!this.#beginClosing()) return
    const refusal = await this.#haltAsFarAsPossible('killed')
    await this.#end('released', undefined, refusal)
  }

  /** The host is gone or ends: settles everything at once, calls `settled`, and then ends the tree. */
  async handOver(limitMs: number, settled: () => void): Promise<void> {
    const isFirst = !this.isEnded
    this.#phase = 'ended'
    this.#aborter.abort()
    if (isFirst) {
      const detail = 'Ballet ended while this was running.'
      this.#conversation.giveBackAll(detail)
      this.#conversation.turns.settle({ reason: 'killed', detail })
      this.#context.outgoing.seal()
    }
    settled()
    void this.#tools.close()
    // What is left of git then is found by its marker when the lease is reaped.
    const git = endGit([this.#context.marker], limitMs).catch(() => undefined)
    await within(this.#context.clock, limitMs, Promise.all([this.#conversation.kill(), git]))
  }

  /** Of the runtime, or of the setup command while that runs. */
  async processes(): Promise<ProcessIdentity[]> {
    if (this.#conversation.hasRuntime) return this.#conversation.processes()
    return this.isEnded ? [] : processesWith([this.#context.marker])
  }

  onPressure(pressure: Pressure): void {
    if (pressure === 'over') this.interrupt()
    if (pressure !== 'high') return
    const text =
      'The host stores less than the runtime tells. What is being written is not shown until it catches up.'
    this.#context.report.notice('warning', 'agent.pressure', text)
  }

  async #prepare(): Promise<void> {
    const { spec, env } = this.#context
    const { signal } = this.#aborter
    this.#phase = 'preparing'
    try {
      await removeCutParking(this.#context)
      const look = { path: spec.runtimePath, env, limitMs: RUNTIME_LIMITS.look, remembers: true }
      const executable = this.#driver.find(look).then(executableOf)
      // Without a runtime no workspace is needed; it is awaited all the same, so that nothing goes on behind the end.
      executable.catch(() => this.#aborter.abort())
      const [found, prepared] = await Promise.allSettled([
        executable,
        prepareWorkspace(this.#context, this.#conversation.turns, signal),
      ])
      if (found.status === 'rejected') throw found.reason
      if (prepared.status === 'rejected') throw prepared.reason
      if (this.#isGivenUp(signal)) return
      this.#executable = found.value
      await mkdir(this.#context.scratchDir, { recursive: true })
      await restoreConversation(this.#context, this.#driver)
      await this.#launch(found.value, this.#factsOfEarlierLease())
      tellOtherVersion(this.#context, this.#conversation)
    } catch (error) {
      if (this.#isGivenUp(signal)) return
      await this.#fail(refusalOf(error, 'preparing the session'))
    }
  }

  #factsOfEarlierLease(): ResumeFacts | null {
    const { resume } = this.#context.spec
    if (resume === null || resume.conversation === null) return null
    const { conversation, costUsd: _, ...facts } = resume
    return { conversation, ...facts }
  }

  /** Brings up the runtime; leaves it to whoever closes the session by then. */
  async #launch(executable: string, facts: ResumeFacts | null): Promise<void> {
    if (this.#isLeaving()) return
    const mcpServers = await this.#tools.open()
    try {
      await this.#conversation.launch(executable, facts, mcpServers)
    } catch (error) {
      if (this.#isLeaving() || !wasKilledInStart(error) || this.#crashes.count(null)) throw error
      const text = `The runtime was ended in its start, and is started again: ${error.message}`
      this.#context.report.notice('info', 'runtime.exited', text)
      return this.#launch(executable, facts)
    }
    if (this.#isLeaving()) return
    this.#phase = 'online'
    this.#conversation.go()
  }

  /** Brings back a runtime that ended, in the same conversation. */
  #relaunch(): void {
    const facts = this.#conversation.factsAfter()
    if (facts === null || this.#executable === null) {
      this.#work = this.#prepare()
      return
    }
    const executable = this.#executable
    this.#phase = 'launching'
    this.#work = this.#standAgain()
      .then(() => this.#launch(executable, facts))
      .catch((error: unknown) => this.#fail(refusalOf(error, 'bringing the runtime back')))
  }

  /** A runtime cannot go on in a folder that is gone, nor begin in it. */
  async #standAgain(): Promise<void> {
    if (isWorkspaceThere(this.#context)) return
    await this.#conversation.stop('killed')
    await replaceWorkspace(this.#context, this.#conversation.turns, this.#aborter.signal)
    // They come again, and tell the runtime what became of its workspace.
    this.#conversation.giveBackAll('The workspace was not there any more.')
  }

  #onLost({ detail, hint, wasBusy, survived }: RuntimeLoss): void {
    if (this.#phase !== 'online') return
    this.#phase = 'down'
    if (survived !== undefined) {
      void this.#fail(survived)
    } else if (this.#crashes.count(wasBusy ? this.#conversation.turns.turn : null)) {
      void this.#fail({
        code: 'runtime.crashing',
        message: `The runtime ended three times within a minute, or without beginning a turn. The last time: ${detail}`,
        hint:
          hint ??
          'Look at the last events, run the runtime in a terminal in the workspace, then send a message to try again.',
      })
    } else if (wasBusy) {
      this.#relaunch()
    } else {
      const text = `The runtime ended between turns, and is started again with the next message: ${detail}`
      this.#context.report.notice('info', 'runtime.exited', text)
      this.#conversation.pump()
    }
  }

  /** False when the session is closing or over already. */
  #beginClosing(): boolean {
    if (this.#isLeaving()) return false
    if (this.#phase === 'preparing' || this.#phase === 'launching') this.#aborter.abort()
    this.#phase = 'closing'
    return true
  }

  /** Ends the runtime, so that nothing writes any more. Rejects when something could not be ended. */
  async #halt(reason: 'interrupted' | 'killed', limitMs?: number): Promise<void> {
    let hasYielded = true
    if (this.#aborter.signal.aborted) {
      // What prepares or launches ends when its processes do.
      await this.#conversation.kill()
      const yielded = await within(this.#context.clock, YIELD_LIMIT_MS, this.#work)
      hasYielded = yielded !== 'too-late'
      this.#aborter = new AbortController()
    }
    await this.#conversation.stop(reason, limitMs)
    // A workspace could still appear, after its place was found empty.
    if (!hasYielded) throw notYielded()
  }

  /** Gives what could not be ended. */
  #haltAsFarAsPossible(reason: 'interrupted' | 'killed'): Promise<Refusal | undefined> {
    return this.#halt(reason).then(
      () => undefined,
      (error: unknown) => refusalOf(error, 'ending the runtime'),
    )
  }

  async #fail(refusal: Refusal): Promise<void> {
    if (this.#isLeaving()) return
    this.#phase = 'closing'
    this.#aborter.abort()
    const why = await this.#conversation.stop('killed').then(
      () => refusal,
      (error: unknown) => refusalOf(error, 'ending the runtime'),
    )
    await this.#end('failed', undefined, why)
  }

  async #end(
    outcome: 'finished' | 'stopped' | 'parked' | 'failed' | 'released',
    kept?: boolean,
    refusal?: Refusal,
  ): Promise<void> {
    const isKept = kept ?? (await hasWorkspace(this.#context))
    await this.#tools.close()
    await removeTree(this.#context.scratchDir).catch(() => undefined)
    if (this.isEnded) return
    this.#conversation.giveBackAll('The session ended before it was handed over.')
    timed(this.#context, {
      type: 'ended',
      outcome,
      kept: isKept,
      ...(refusal === undefined ? {} : { refusal }),
    })
    this.#phase = 'ended'
    this.#onEnded()
  }

  /** It was told to yield, did not in time, and the session went on without it. */
  #isGivenUp(signal: AbortSignal): boolean {
    return signal.aborted && signal !== this.#aborter.signal
  }

  #isLeaving(): boolean {
    return this.#phase === 'closing' || this.#phase === 'ended'
  }
}
