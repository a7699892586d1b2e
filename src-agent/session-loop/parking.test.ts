import { access, chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SessionMarker, WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import type { ParkedWork } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { fingerprintOf } from '../parking/testing/fingerprint.ts'
import { HandClock } from '../port/hand-clock.ts'
import { runProbe } from '../probes/probe.ts'
import { makeSample, never, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { type LoopHarness, makeDelivery, until } from './loop-harness.ts'
import { KEY, ParkedScene, stepsOf } from './parked-scene.ts'

let sample: Sample
let scene: ParkedScene
let work: string
beforeEach(async () => {
  sample = await makeSample()
  scene = new ParkedScene(sample)
  work = sample.plan().workspaceDir
})
afterEach(() => sample.remove())

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

const DONE = ['settle', 'snapshot', 'push', 'state', 'store', 'free'].flatMap((step) => [
  `${step} started`,
  `${step} done`,
])

/** A session with uncommitted work and a conversation. */
async function working(changes: Record<string, unknown> = {}): Promise<LoopHarness> {
  const harness = await scene.open(changes).ready()
  await writeFiles(work, { 'src/a.txt': 'staged\n', 'new file.txt': 'new\n', '.env': 'KEY=1\n' })
  await sample.sh(work, 'add', 'src/a.txt')
  await writeFiles(work, { 'src/a.txt': 'staged, and changed again\n' })
  await mkdir(join(work, 'empty'))
  await scene.converse('all that was said\n')
  return harness
}

async function park(harness: LoopHarness, order = scene.order()): Promise<ParkedWork> {
  await harness.loop.park(order)
  await harness.untilItem('ended')
  return (await harness.untilItem('parked')).work
}

describe('parking a session', () => {
  it('keeps the work and the state step by step, and frees the agent when that is stored', async () => {
    const harness = await working()
    const kept = await park(harness)
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'parked', kept: false })
    expect(stepsOf(harness.items, 'park.step')).toEqual(DONE)
    for (const { status, durationMs, detail } of harness.events('park.step')) {
      if (status === 'started') continue
      expect(durationMs).toBeGreaterThanOrEqual(0)
      expect(detail).toMatch(/\.$/)
    }
    expect(await isThere(work)).toBe(false)
    const { branch } = sample.plan()
    expect(await sample.sh(sample.remote, 'rev-parse', branch)).toBe(kept.commit)
    expect(await harness.untilItem('pushed')).toMatchObject({ commit: kept.commit })
    expect(kept).toMatchObject({
      ...{ pushed: true, notPushed: null },
      aside: [{ name: '.env', why: 'looks like a secret', bytes: 6 }],
      state: { conversation: 'conversation-1', runtimeVersion: '1.0.0', bytes: 18 },
    })
    expect(kept.files.map(({ kind }) => kind).sort()).toEqual(['aside', 'state'])
    expect((await readdir(scene.keptDir)).sort()).toEqual(kept.files.map(({ name }) => name).sort())
    expect(JSON.stringify([harness.items, harness.live])).not.toContain(KEY)
  })

  it('interrupts the turn, and gives back what was not handed over', async () => {
    const harness = await working()
    const running = makeDelivery('running')
    harness.loop.deliver(running)
    await harness.untilAsked('send running')
    harness.driver.take(running)
    harness.loop.deliver(makeDelivery('waits'))
    await park(harness)
    expect(harness.events('turn.ended')).toMatchObject([{ reason: 'interrupted' }])
    expect(await harness.untilItem('undelivered')).toMatchObject({ fate: 'never' })
    expect(harness.items.at(-1)).toMatchObject({ type: 'ended', outcome: 'parked' })
  })

  it('that is refused touches nothing, and the next message brings the runtime back', async () => {
    const harness = await working()
    await sample.sh(work, 'worktree', 'add', '-q', '--detach', join(sample.folder, 'second'))
    const before = await fingerprintOf(work, sample.env)
    await harness.loop.park(scene.order())
    expect(await harness.untilItem('refused')).toMatchObject({
      what: 'park',
      refusal: { code: 'workspace.worktree-elsewhere', hint: expect.any(String) },
    })
    expect(stepsOf(harness.items, 'park.step').slice(-2)).toEqual([
      'snapshot started',
      'snapshot failed',
    ])
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    expect(await readdir(scene.keptDir)).toEqual([])
    harness.loop.deliver(makeDelivery('go on'))
    await harness.untilAsked('send go on')
    expect(harness.driver.asked.filter((asked) => asked === 'resume')).toHaveLength(1)
    await harness.loop.release()
  })

  it('asks what became of the message of a turn that it cut, though nothing else waits', async () => {
    const harness = await working()
    const delivery = makeDelivery('cut')
    harness.loop.deliver(delivery)
    await harness.untilAsked('send cut')
    harness.driver.begin(delivery.id)
    harness.driver.interrupted = { cut: true }
    harness.driver.launches = [{ signals: [], fate: 'never' }]
    await sample.sh(work, 'worktree', 'add', '-q', '--detach', join(sample.folder, 'second'))
    await harness.loop.park(scene.order())
    await harness.untilItem('refused')
    expect(await harness.untilItem('undelivered')).toMatchObject({
      delivery: delivery.id,
      fate: 'never',
    })
    expect(harness.driver.facts.at(-1)).toMatchObject({ turnCut: true })
    await harness.loop.release()
  })

  it('leaves the workspace where it is when the host does not store what is kept', async () => {
    const clock = new HandClock()
    const harness = scene.open({}, { stores: false, clock }).start()
    await harness.untilItem('ready')
    await writeFiles(work, { 'new.txt': 'new\n' })
    const parking = harness.loop.park(scene.order())
    await harness.untilItem('parked')
    clock.advance(120_000)
    await parking
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'parked', kept: true })
    expect(stepsOf(harness.items, 'park.step').at(-1)).toBe('store failed')
    expect(await isThere(join(work, 'new.txt'))).toBe(true)
  })

  it('lets go while it waits for the host, with the workspace', async () => {
    const harness = scene.open({}, { stores: false }).start()
    await harness.untilItem('ready')
    const parking = harness.loop.park(scene.order())
    await harness.untilItem('parked')
    await harness.loop.release()
    await parking
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'released', kept: true })
    expect(await isThere(work)).toBe(true)
  })

  it('does not keep the same content twice, nor what is not needed any more', async () => {
    const first = await park(await working())
    await writeFile(
      join(scene.keptDir, 'state-0123456789abcdef.sealed'),
      'of an attempt that was cut',
    )
    const again = await scene.open(scene.resumed(first)).ready()
    const second = await park(again, scene.order({ kept: first.files }))
    expect(second.files).toEqual(first.files)
    expect(second.commit).toBe(first.commit)
    expect((await readdir(scene.keptDir)).sort()).toEqual(
      first.files.map(({ name }) => name).sort(),
    )
    const third = await scene.open(scene.resumed(second)).ready()
    await scene.converse('all that was said, and more\n')
    const changed = await park(third, scene.order({ kept: second.files }))
    const nameOf = ({ files }: ParkedWork, kind: string) =>
      files.find((file) => file.kind === kind)?.name
    expect(nameOf(changed, 'state')).not.toBe(nameOf(first, 'state'))
    expect(nameOf(changed, 'aside')).toBe(nameOf(first, 'aside'))
    expect((await readdir(scene.keptDir)).sort()).toEqual(
      changed.files.map(({ name }) => name).sort(),
    )
  })
})

it('a parking that cannot be leaves no kept file, and one that was cut leaves none to the next run', async () => {
  const harness = await working()
  await rm(sample.remote, { recursive: true })
  const driver = harness.driver
  driver.state = {
    ...(driver.state ?? scene.driver().state),
    capture: () => Promise.reject(new Error('The disk is full.')),
  } as NonNullable<typeof driver.state>
  await harness.loop.park(scene.order())
  await harness.untilItem('refused')
  expect(await readdir(scene.keptDir)).toEqual([])
  await harness.loop.release()
  const keptDir = join(sample.dataDir, 'kept', sample.plan().session)
  await writeFiles(keptDir, {
    'state-0123456789abcdef.sealed': 'named',
    'bundle-0123456789abcdef.sealed': 'of a parking that was cut',
    '.part/state.sealed': 'half of one',
  })
  await scene.open({ kept: ['state-0123456789abcdef.sealed'] }).ready()
  expect(await readdir(keptDir)).toEqual(['state-0123456789abcdef.sealed'])
})

describe('parking without a push', () => {
  const goneRemote = () => rm(sample.remote, { recursive: true })

  const pushLater = (kept: ParkedWork, pushedCommit: string | null = null) => {
    const { repo, baseBranch, branch, mirrorDir, session } = sample.plan()
    const plan = { repo, baseBranch, branch, mirrorDir, pushedCommit, env: {} }
    const marker = SessionMarker.parse({ session, nonce: '0'.repeat(16) })
    const probe = {
      kind: 'park.push',
      ...plan,
      marker,
      work: kept,
      key: KEY,
      keptDir: scene.keptDir,
    } as const
    const options = { dataDir: sample.dataDir, env: sample.env, drivers: {}, signal: never }
    return runProbe(probe, 30_000, { ...options, clock: new HandClock(), running: new Set() })
  }

  it('keeps a bundle where the remote is gone; it is pushed later, once and again', async () => {
    const harness = await working()
    await sample.sh(sample.folder, 'clone', '-q', '--bare', sample.remote, 'aside.git')
    await goneRemote()
    const kept = await park(harness)
    expect(kept).toMatchObject({ pushed: false, notPushed: { code: 'remote.not-a-repository' } })
    expect(kept.files.map(({ kind }) => kind)).toContain('bundle')
    expect(stepsOf(harness.items, 'park.step')).toContain('push failed')
    expect(await isThere(work)).toBe(false)
    expect((await pushLater(kept)).refusal).toMatchObject({ code: 'remote.not-a-repository' })
    await sample.sh(sample.folder, 'clone', '-q', '--bare', 'aside.git', sample.remote)
    const { branch } = sample.plan()
    for (const _ of [1, 2]) {
      const { finding, refusal } = await pushLater(kept)
      expect(refusal).toBeNull()
      expect(finding).toEqual({ kind: 'park.push', commit: kept.commit })
      expect(await sample.sh(sample.remote, 'rev-parse', branch)).toBe(kept.commit)
    }
    expect(
      (await readdir(join(sample.dataDir, 'scratch'))).filter((name) => /push/.test(name)),
    ).toEqual([])
    await sample.commit(branch, { 'theirs.txt': 'theirs\n' })
    const { refusal } = await pushLater(kept, kept.commit)
    expect(refusal).toMatchObject({ code: 'push.rejected' })
  })

  it('is restored from the bundle where the remote never saw it', async () => {
    const harness = await working()
    const before = await fingerprintOf(work, sample.env)
    const kept = await park(harness, scene.order({ fast: true }))
    expect(kept).toMatchObject({ pushed: false, notPushed: { code: 'push.later' } })
    expect(stepsOf(harness.items, 'park.step')).toEqual(DONE)
    expect(await sample.sh(sample.remote, 'for-each-ref', 'refs/heads/ballet')).toBe('')
    const again = await scene.open(scene.resumed(kept)).ready()
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    await again.loop.release()
  })

  it('hurries when it is told to while a push takes long', async () => {
    const hook = join(sample.remote, 'hooks', 'pre-receive')
    const started = join(sample.folder, 'push-started')
    await writeFile(hook, `#!/bin/sh\ntouch '${started}'\nexec sleep 600\n`)
    await chmod(hook, 0o755)
    const harness = await working()
    const parking = harness.loop.park(scene.order())
    await until('the push', () => isThere(started))
    void harness.loop.park(scene.order({ fast: true }))
    await parking
    expect((await harness.untilItem('parked')).work).toMatchObject({
      pushed: false,
      notPushed: { code: 'push.later' },
    })
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'parked', kept: false })
  })
})

describe('parking what an earlier lease left', () => {
  it('needs no runtime', async () => {
    const first = await working()
    await first.loop.handOver(1_000, () => undefined)
    const driver = scene.driver()
    const harness = scene.open(
      { ...scene.resumed(await nothing()), parked: null, task: 'park' },
      { driver },
    )
    const kept = await park(harness.start())
    expect(driver.asked).toEqual(['find'])
    expect(stepsOf(harness.items, 'park.step')).toEqual(DONE)
    expect(kept.state).toMatchObject({ conversation: 'conversation-1', runtimeVersion: '1.0.0' })
    expect(harness.items.at(-1)).toMatchObject({ outcome: 'parked', kept: false })
  })

  it.each(['settle', 'snapshot', 'push', 'state', 'store'])(
    'goes on where the agent was cut: %s',
    async (cut) => {
      const first = await working()
      const before = await fingerprintOf(work, sample.env)
      const isAt = (status: string) =>
        stepsOf(first.items, 'park.step').includes(`${cut} ${status}`)
      const parking = first.loop.park(scene.order())
      await until(`the step ${cut}`, () => isAt('started'))
      await first.loop.handOver(1_000, () => undefined)
      await parking
      const anew = async () => {
        const next = scene.open({ ...scene.resumed(await nothing()), parked: null, task: 'park' })
        const work = await park(next.start())
        expect(next.items.at(-1)).toMatchObject({ outcome: 'parked', kept: false })
        return work
      }
      // Nobody parks it again where the workspace is gone: all of it was stored by then.
      const kept = (await isThere(work)) ? await anew() : (await first.untilItem('parked')).work
      const again = await scene.open(scene.resumed(kept)).ready()
      expect(await fingerprintOf(work, sample.env)).toEqual(before)
      expect(await readFile(scene.conversationFile(work), 'utf8')).toBe('all that was said\n')
      await again.loop.release()
    },
  )

  it.each([
    ['where nothing was recorded before it was cut', false],
    ['that is lost where something was', true],
  ])('keeps no state %s', async (_where, recorded) => {
    const first = await working()
    await rm(scene.conversationFile(work))
    await first.loop.release()
    const resume = {
      ...{ conversation: 'conversation-1', costUsd: 0, openCalls: [], storedRefs: [], told: [] },
      ...{ turn: 2, turnCut: true, recorded },
      openDeliveries: [{ id: makeDelivery('first').id, inputs: [], steer: false }],
    }
    const next = scene.open({ task: 'park', resume }).start()
    const kept = await park(next)
    expect(kept.state).toBeNull()
    expect(kept.unrecorded).toBe(recorded ? undefined : true)
    const steps = stepsOf(next.items, 'park.step')
    expect(steps).toContain(recorded ? 'state failed' : 'state done')
  })

  it('removes nothing when the host is gone before it could be told what is kept', async () => {
    const driver = scene.driver()
    let over: Promise<void> = Promise.resolve()
    const first = await scene.open({}, { driver }).ready()
    await writeFiles(work, { 'new.txt': 'new\n' })
    driver.state = {
      ...(driver.state as NonNullable<typeof driver.state>),
      // The last that is done before what is kept is told.
      capture: async () => {
        await until('the host to have all so far', () => first.outgoing.isSettled)
        over = first.loop.handOver(1_000, () => undefined)
        throw new BalletError({ code: 'state.missing', message: 'There is no conversation.' })
      },
    }
    await first.loop.park(scene.order())
    await over
    expect(first.items.filter(({ type }) => type === 'parked')).toEqual([])
    expect(await isThere(join(work, 'new.txt'))).toBe(true)
  })

  it('removes nothing once its lease is over: another one may be at work there', async () => {
    const hook = join(sample.remote, 'hooks', 'pre-receive')
    await writeFile(hook, '#!/bin/sh\nexec sleep 300\n')
    await chmod(hook, 0o755)
    const first = await working()
    const parking = first.loop.park(scene.order())
    await until('the push', () => stepsOf(first.items, 'park.step').includes('push started'))
    const before = await readdir(scene.keptDir)
    await first.loop.handOver(1_000, () => undefined)
    await parking
    expect(before.some((name) => name.startsWith('aside-'))).toBe(true)
    expect(await readdir(scene.keptDir)).toEqual(before)
  })

  it('gives back what was kept before when it was cut before that was restored', async () => {
    const kept = await park(await working())
    const next = scene.open({ ...scene.resumed(kept), task: 'park' })
    expect(await park(next.start(), scene.order({ kept: kept.files }))).toEqual(kept)
    expect((await readdir(scene.keptDir)).sort()).toEqual(kept.files.map(({ name }) => name).sort())
  })

  it('keeps the conversation as it is now where the workspace was deleted after a resume', async () => {
    const first = await park(await working())
    const resumed = await scene.open(scene.resumed(first)).ready()
    await scene.converse('all that was said, and more\n')
    await rm(work, { recursive: true })
    const second = await park(resumed, scene.order({ kept: first.files }))
    const withoutState = ({ files }: ParkedWork) => files.filter(({ kind }) => kind !== 'state')
    expect(withoutState(second)).toEqual(withoutState(first))
    expect(second).toMatchObject({ commit: first.commit, snapshot: first.snapshot })
    const again = await scene.open(scene.resumed(second)).ready()
    expect(await readFile(scene.conversationFile(work), 'utf8')).toBe(
      'all that was said, and more\n',
    )
    expect(await readFile(join(work, '.env'), 'utf8')).toBe('KEY=1\n')
    await again.loop.release()
  })

  it.each(['run', 'park'] as const)(
    'has what was kept where the workspace was deleted after an earlier lease restored it: %s',
    async (task) => {
      const first = await park(await working())
      const resumed = await scene.open(scene.resumed(first)).ready()
      await scene.converse('all that was said, and more\n')
      await resumed.loop.handOver(1_000, () => undefined)
      const parked = { work: first, key: KEY, keptDir: scene.keptDir, restored: true }
      const kept = first.files.map(({ name }) => name)
      await rm(work, { recursive: true })
      const later = scene.open({ ...scene.resumed(first), parked, kept, task })
      if (task === 'run') {
        await later.ready()
        expect(await readFile(join(work, '.env'), 'utf8')).toBe('KEY=1\n')
        expect(await readFile(scene.conversationFile(work), 'utf8')).toMatch(/more\n$/)
        const [notice] = later.events('notice').filter(({ code }) => code === WORKSPACE_GONE)
        expect(notice?.text).toContain('It is restored as it was when the session was parked')
        await later.loop.release()
        return
      }
      const second = await park(later.start(), scene.order({ kept: first.files }))
      const withoutState = ({ files }: ParkedWork) => files.filter(({ kind }) => kind !== 'state')
      expect(withoutState(second)).toEqual(withoutState(first))
      expect(second).toMatchObject({ commit: first.commit, snapshot: first.snapshot })
      const again = await scene.open(scene.resumed(second)).ready()
      expect(await readFile(scene.conversationFile(work), 'utf8')).toMatch(/more\n$/)
      await again.loop.release()
    },
  )

  it('goes on with the workspace that an earlier lease restored where it is there', async () => {
    const first = await park(await working())
    const resumed = await scene.open(scene.resumed(first)).ready()
    await writeFiles(work, { 'new file.txt': 'newer\n' })
    await resumed.loop.handOver(1_000, () => undefined)
    const parked = { work: first, key: KEY, keptDir: scene.keptDir, restored: true }
    const later = await scene.open({ ...scene.resumed(first), parked }).ready()
    expect(await readFile(join(work, 'new file.txt'), 'utf8')).toBe('newer\n')
    expect(later.events('notice')).toEqual([])
    await later.loop.release()
  })

  it('removes nothing that was kept before where it finds no workspace', async () => {
    const first = await park(await working())
    await scene.converse('all that was said\n')
    const kept = first.files.map(({ name }) => name)
    const next = scene.open({ ...scene.resumed(first), parked: null, kept, task: 'park' })
    expect(await park(next.start(), scene.order({ kept: first.files }))).toMatchObject({
      snapshot: null,
    })
    expect(await readdir(scene.keptDir)).toEqual(expect.arrayContaining(kept))
  })

  it('parks what is on the remote when the workspace was deleted by hand', async () => {
    const first = await working()
    await first.loop.handOver(1_000, () => undefined)
    await rm(work, { recursive: true })
    const next = scene.open({ ...scene.resumed(await nothing()), parked: null, task: 'park' })
    expect(await park(next.start())).toMatchObject({
      ...{ commit: null, pushed: true, snapshot: null },
      state: { conversation: 'conversation-1' },
    })
  })
})

/** Nothing was kept yet. */
async function nothing(): Promise<ParkedWork> {
  return {
    ...{ commit: null, pushed: false, notPushed: null, files: [], state: null, aside: [] },
    snapshot: null,
  }
}
