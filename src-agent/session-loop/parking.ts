import { join } from 'node:path'
import type { ToAgent } from '../../src-shared/agent-wire.ts'
import type { KeptFile, ParkedWork, ParkStep } from '../../src-shared/parking.ts'
import { BalletError, type Refusal } from '../../src-shared/refusal.ts'
import { copyIntoMirror } from '../parking/copy-in-mirror.ts'
import { KeepFiles, removeCut, removeOtherFiles } from '../parking/keep-files.ts'
import { keyOf, snapshotFacts, withoutFiles } from '../parking/kept-work.ts'
import { type ParkPush, pushParked } from '../parking/push.ts'
import { captureSessionState } from '../parking/session-state.ts'
import { type Snapshot, takeSnapshot } from '../parking/snapshot.ts'
import type { Driver } from '../runtimes/driver.ts'
import { refusalOf } from '../workspace/failure.ts'
import { removeWorkspace } from '../workspace/folders.ts'
import type { Report } from '../workspace/report.ts'
import { hasWorkspace } from './closing.ts'
import { asStep, keptNow, type LoopContext, timed, timelineReport } from './context.ts'
import type { Conversation } from './conversation.ts'
import { expectsWorkspace, tellWorkspaceGone } from './missing-workspace.ts'

export type ParkOrder = Omit<Extract<ToAgent, { type: 'session.park' }>, 'type' | 'lease'>

/** A remote that does not take the work by then gets it later, out of a bundle. */
const PUSH_LIMIT_MS = 60_000
/** How long the host may take to read back and store what was kept, before the workspace is left where it is. */
const STORED_LIMIT_MS = 120_000

/**
 * Keeps everything of a session that another lease needs to go on, step by step. Nothing writes to the workspace any
 * more, and until all is stored nothing is removed: it may be cut anywhere, and done again.
 */
export class Parking {
  readonly #context: LoopContext
  readonly #driver: Driver
  readonly #conversation: Pick<Conversation, 'id' | 'runtimeVersion' | 'turns'>
  readonly #order: ParkOrder
  readonly #report: Report
  readonly #files: KeepFiles
  readonly #hurry = new AbortController()

  constructor(
    context: LoopContext,
    driver: Driver,
    conversation: Pick<Conversation, 'id' | 'runtimeVersion' | 'turns'>,
    order: ParkOrder,
  ) {
    this.#context = context
    this.#driver = driver
    this.#conversation = conversation
    this.#order = order
    this.#report = timelineReport(context.outgoing, context.clock, 'park.step')
    this.#files = new KeepFiles(order.keptDir, keyOf(order), order.kept)
    if (order.fast) this.#hurry.abort()
  }

  /** There is no time to push any more. */
  hurry(): void {
    this.#hurry.abort()
  }

  /** Does a part of it as a step of the timeline. */
  step<T>(name: ParkStep, work: () => Promise<T>, inWords: (value: T) => string): Promise<T> {
    return asStep(this.#report, name, work, inWords)
  }

  /** Snapshot, push and session state. Rejects with `BalletError`; then everything is as it was. */
  async keep(signal: AbortSignal): Promise<ParkedWork> {
    await this.#files.begin()
    try {
      const snapshot = await this.step('snapshot', () => this.#snapshot(signal), snapshotInWords)
      const earlier = keptNow(this.#context) ?? this.#context.spec.parked
      if (snapshot === null && earlier !== null) return await this.#keptBefore(earlier, signal)
      const pushed = await this.#push(snapshot, signal)
      const state = await this.#state(signal)
      return {
        commit: snapshot === null ? this.#context.plan.pushedCommit : snapshot.commit,
        pushed: pushed === null || pushed.pushed,
        notPushed: pushed === null || pushed.pushed ? null : pushed.why,
        files: [...this.#files.files],
        ...state,
        aside: [...(snapshot?.aside ?? [])],
        snapshot: snapshot === null ? null : snapshotFacts(snapshot),
      }
    } catch (error) {
      if (!signal.aborted) await this.#cleanUp()
      throw error
    } finally {
      // Where it was told to let go, another lease may be at work in the same folder by now.
      if (!signal.aborted) await this.#files.end()
    }
  }

  /** What stays of a parking that failed goes with the next one. */
  async #cleanUp(): Promise<void> {
    const { keptDir, kept } = this.#order
    try {
      await removeOtherFiles(keptDir, [...kept, ...this.#leftOut()])
    } catch (error) {
      this.#context.log('warn', 'what a parking left could not be removed', { keptDir, error })
    }
  }

  /** Tells what is kept, and waits until it is stored. False: it is not, or not yet; nothing may be removed. */
  async store(work: ParkedWork, signal: AbortSignal): Promise<boolean> {
    const { outgoing } = this.#context
    const given = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    // Of a session that is let go nothing is told any more, and another lease may be at work in its folder.
    const mustHold = () => {
      if (signal.aborted) throw notStored('The session was told to let go.')
    }
    const wait = async () => {
      mustHold()
      timed(this.#context, { type: 'parked', saga: this.#order.saga, work })
      const isStored = await Promise.race([outgoing.settled(STORED_LIMIT_MS), given])
      mustHold()
      if (isStored !== true) throw notStored(`It said nothing for ${STORED_LIMIT_MS / 1_000} s.`)
    }
    return this.step('store', wait, () => storedInWords(work)).then(
      () => true,
      () => false,
    )
  }

  /** Removes the workspace. Gives whether it is still there. */
  async free(work: ParkedWork): Promise<boolean> {
    const { plan, log } = this.#context
    const remove = async () => {
      // Without a workspace what was kept before may be all that there is of the work.
      const before = work.snapshot === null ? this.#order.kept : []
      const files = [...work.files, ...before, ...this.#leftOut()]
      await removeOtherFiles(this.#order.keptDir, files)
      const isGone = await removeWorkspace(plan.dataDir, plan.workspaceDir)
      if (!isGone) log('warn', 'a removed workspace could not be deleted yet', { ...plan })
    }
    return this.step('free', remove, () => 'The workspace is removed, the agent is free.').then(
      () => false,
      () => true,
    )
  }

  /** Kept files that nothing of the session needs, and that stay until its end; Core may not know of all of them yet. */
  #leftOut(): Pick<KeptFile, 'name'>[] {
    const names = [...(this.#order.damaged ?? []), ...this.#context.leftOut]
    return names.map((name) => ({ name }))
  }

  async #snapshot(signal: AbortSignal): Promise<Snapshot | null> {
    if (!(await hasWorkspace(this.#context))) {
      const ran = this.#conversation.runtimeVersion !== null
      const told = { ...this.#context, report: this.#report }
      if (ran || expectsWorkspace(this.#context)) tellWorkspaceGone(told, 'parked')
      return null
    }
    const { git, plan } = this.#context
    const target = { folder: this.#files.staging, key: keyOf(this.#order) }
    const snapshot = await takeSnapshot(git, plan, target, this.#report, signal)
    await this.#files.add('aside', snapshot.asideArchive)
    await this.#files.add('refs', snapshot.refsBundle)
    await this.#files.add('archive', snapshot.archive)
    return snapshot
  }

  /** There is no workspace: what was kept before is all there is of the work, but the conversation may have gone on. */
  async #keptBefore(
    {
      work: earlier,
      restored,
      withoutDamaged,
      partial,
    }: NonNullable<LoopContext['spec']['parked']>,
    signal: AbortSignal,
  ): Promise<ParkedWork> {
    let isPartial = partial === true
    // Cut before it was restored.
    if (!restored && this.#conversation.runtimeVersion === null) {
      return isPartial ? withoutFiles(earlier) : earlier
    }
    const { leftOut } = this.#context
    for (const file of earlier.files) {
      if (file.kind === 'state') continue
      if (!leftOut.has(file.name) && (await this.#files.reuse(file))) continue
      isPartial = true
      if (withoutDamaged === true || leftOut.has(file.name)) continue
      throw new BalletError({
        code: 'state.corrupt',
        message: `The kept file ${file.name} is not there any more, or not what was stored.`,
        hint: 'Put it back from a backup, then park again.',
      })
    }
    const state = await this.#state(signal)
    const kept = isPartial ? withoutFiles(earlier) : earlier
    return { ...kept, ...state, files: [...this.#files.files] }
  }

  /** Null: there is nothing to push. */
  async #push(snapshot: Snapshot | null, signal: AbortSignal): Promise<ParkPush | null> {
    const commit = snapshot?.commit ?? null
    this.#report.step('push', 'started')
    if (snapshot === null || commit === null || !snapshot.needsPush) {
      this.#report.step('push', 'done', 'There is nothing that the remote does not have.')
      return null
    }
    try {
      const done = await this.#pushOrBundle(commit, signal)
      if (done.pushed) {
        timed(this.#context, { type: 'pushed', commit })
        this.#context.pushed.last = commit
        const { git, plan, log } = this.#context
        const { branch } = plan
        await copyIntoMirror(git, plan, commit, signal).catch((error: unknown) => {
          const { message: why } = refusalOf(error, 'copying parked work into the mirror')
          log('warn', 'parked work is on the remote alone', { branch, why })
        })
        this.#report.step('push', 'done', `${commit.slice(0, 12)} is on ${branch}.`)
        return done
      }
      await this.#files.add('bundle', done.bundle)
      const kept = done.bundle === null ? '' : ` A bundle of ${inBytes(done.bundle.bytes)} is kept.`
      const status = this.#hurry.signal.aborted ? 'done' : 'failed'
      this.#report.step('push', status, `Not pushed yet: ${done.why.message}${kept}`)
      return done
    } catch (error) {
      this.#report.step('push', 'failed', refusalOf(error, 'pushing').message)
      throw error
    }
  }

  async #pushOrBundle(commit: string, signal: AbortSignal): Promise<ParkPush> {
    const { git, plan } = this.#context
    const target = { folder: this.#files.staging, key: keyOf(this.#order) }
    if (!this.#hurry.signal.aborted) {
      const either = AbortSignal.any([signal, this.#hurry.signal])
      const limited = { ...target, limitMs: PUSH_LIMIT_MS }
      try {
        return await pushParked(git, plan, commit, limited, either)
      } catch (error) {
        if (signal.aborted || !this.#hurry.signal.aborted) throw error
      }
    }
    return pushParked(git, plan, commit, { ...target, limitMs: 0 }, signal)
  }

  async #state(signal: AbortSignal): Promise<Pick<ParkedWork, 'state' | 'unrecorded'>> {
    this.#report.step('state', 'started')
    try {
      const state = await this.#kept(signal)
      this.#report.step('state', 'done', stateInWords(state))
      return { state }
    } catch (error) {
      const refusal = refusalOf(error, 'storing the state of the session')
      const isMissing = refusal.code === 'state.missing'
      if (isMissing && !this.#conversation.turns.isRecorded) {
        this.#report.step('state', 'done', 'The runtime has recorded nothing of it yet.')
        return { state: null, unrecorded: true }
      }
      const isNone = refusal.code === 'state.not-movable'
      // That a runtime cannot is known beforehand, and nothing went wrong.
      this.#report.step('state', isNone ? 'done' : 'failed', refusal.message)
      // Nothing is there that waiting could save; the work is kept all the same.
      if (isNone || isMissing) return { state: null }
      throw error
    }
  }

  async #kept(signal: AbortSignal): Promise<ParkedWork['state']> {
    const { id: conversation, runtimeVersion } = this.#conversation
    if (conversation === null) return null
    const { spec, plan, env, marker, scratchDir } = this.#context
    const earlier = spec.parked?.work
    const file = earlier?.files.find(({ kind }) => kind === 'state')
    const wentOn = runtimeVersion !== null || spec.parked?.restored === true
    if (!wentOn && file !== undefined && earlier?.state !== null) {
      // No runtime went on with it since.
      if (await this.#files.reuse(file)) return earlier?.state ?? null
    }
    const version = runtimeVersion ?? (await this.#installedVersion())
    const sealed = join(this.#files.staging, 'state.sealed')
    const archive = await captureSessionState(
      this.#driver,
      version,
      {
        ...{ conversation, file: sealed, key: keyOf(this.#order) },
        place: {
          cwd: plan.workspaceDir,
          env,
          executable: spec.runtimePath,
          scratchDir: join(scratchDir, 'capture'),
          marker,
        },
        scratch: join(scratchDir, 'state'),
      },
      signal,
    )
    await this.#files.add('state', archive.sealed)
    const { runtimeVersion: writtenBy, files } = archive.manifest
    const bytes = files.reduce((sum, each) => sum + each.bytes, 0)
    return { conversation, runtimeVersion: writtenBy, bytes }
  }

  /** The runtime that wrote the state has ended; most likely it is the one that is installed. */
  async #installedVersion(): Promise<string> {
    const { spec, env } = this.#context
    const found = await this.#driver.find({ path: spec.runtimePath, env, remembers: true })
    return found.version ?? 'unknown'
  }
}

/** What a parking that was cut left among the kept files; what stays harms nobody. */
export async function removeCutParking({ spec, dataDir }: LoopContext): Promise<void> {
  const names = [...spec.kept, ...(spec.parked?.work.files.map(({ name }) => name) ?? [])]
  const keptDir = join(dataDir, 'kept', spec.session)
  const kept = names.map((name) => ({ name }))
  await removeCut(keptDir, kept).catch(() => undefined)
}

function snapshotInWords(snapshot: Snapshot | null): string {
  if (snapshot === null) return 'There is no workspace.'
  const { commit, aside, archive, workInProgress, ignored } = snapshot
  const at = commit === null ? 'nothing' : commit.slice(0, 12)
  const files = aside.length === 1 ? '1 file is' : `${aside.length} files are`
  const beside = aside.length === 0 ? '' : ` ${files} kept beside it.`
  const without = ignored === null ? '' : ` What git ignores is not kept: ${ignored}.`
  if (archive !== null) return `The whole workspace is kept, ${inBytes(archive.bytes)}.${without}`
  if (workInProgress) return `Uncommitted work is in two commits, up to ${at}.${beside}${without}`
  return `Everything is committed, up to ${at}.${without}`
}

function stateInWords(state: ParkedWork['state']): string {
  if (state === null) return 'There is no conversation yet.'
  return `The conversation is kept, ${inBytes(state.bytes)} of version ${state.runtimeVersion}.`
}

function storedInWords({ files }: ParkedWork): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return files.length === 0 ? 'Stored.' : `Stored, with ${inBytes(bytes)} of kept files.`
}

function inBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  if (bytes < 1024 ** 2) return `${Math.round(bytes / 1024)} KB`
  if (bytes < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MB`
  return `${(bytes / 1024 ** 3).toFixed(1)} GB`
}

function notStored(why: string): BalletError {
  const refusal: Refusal = {
    code: 'park.not-stored',
    message: `The host did not store what was kept. ${why} The workspace is left where it is.`,
    hint: 'Nothing is lost; resuming the session goes on in its workspace.',
  }
  return new BalletError(refusal)
}
