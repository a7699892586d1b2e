import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import type { ParkedWork } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { type Fingerprint, fingerprintOf } from '../parking/testing/fingerprint.ts'
import { makeSample, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { type LoopHarness, makeDelivery } from './loop-harness.ts'
import { KEY, ParkedScene } from './parked-scene.ts'

// Workspaces that somebody removed after a session was parked and brought back.

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let sample: Sample
let scene: ParkedScene
let work: string
let kept: ParkedWork
let before: Fingerprint
beforeEach(async () => {
  sample = await makeSample()
  scene = new ParkedScene(sample)
  work = sample.plan().workspaceDir
  const harness = await scene.open().ready()
  await writeFiles(work, { 'src/a.txt': 'stashed\n' })
  await sample.sh(work, 'stash', 'push', '--quiet')
  await writeFiles(work, { 'src/a.txt': 'staged\n', 'new.txt': 'new\n', '.env': 'KEY=1\n' })
  await sample.sh(work, 'add', 'src/a.txt')
  await writeFiles(work, { 'src/a.txt': 'staged, and changed again\n' })
  await scene.converse('all that was said\n')
  before = await fingerprintOf(work, sample.env)
  await harness.loop.park(scene.order())
  kept = (await harness.untilItem('parked')).work
  await harness.untilItem('ended')
})
afterEach(() => sample.remove())

const told = (harness: LoopHarness) =>
  harness.events('notice').flatMap(({ code, text }) => (code === WORKSPACE_GONE ? [text] : []))

const remove = () => rm(work, { recursive: true })
const content = (name: string) => readFile(join(work, name), 'utf8')

const restoredBefore = (changes: object = {}) =>
  scene.resumed(kept, {
    parked: { work: kept, key: KEY, keptDir: scene.keptDir, restored: true, ...changes },
  })

/** The next message brings the runtime back, in a workspace that is there again. */
async function goOn(harness: LoopHarness) {
  harness.loop.deliver(makeDelivery('go on'))
  await harness.untilItem('undelivered')
  harness.loop.deliver(makeDelivery('go on, told'))
  await harness.untilAsked('send go on, told')
}

it.each(['this lease', 'an earlier lease'])(
  'comes back as it was parked, where %s restored it',
  async (which) => {
    const first = await scene.open(scene.resumed(kept)).ready()
    let harness = first
    if (which === 'an earlier lease') {
      await first.loop.release()
      harness = await scene.open(restoredBefore()).ready()
    }
    expect(told(harness)).toEqual([])
    await remove()
    await goOn(harness)
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    expect(told(harness)).toEqual([
      expect.stringContaining('It is restored as it was when the session was parked'),
    ])
    await harness.loop.release()
  },
)

it('is parked as it was kept, where an earlier lease restored it and this one found it there', async () => {
  const first = await scene.open(scene.resumed(kept)).ready()
  await first.loop.release()
  const harness = await scene.open(restoredBefore()).ready()
  await remove()
  await harness.loop.park(scene.order({ kept: kept.files }))
  const { work: again } = await harness.untilItem('parked')
  expect(again).toMatchObject({ commit: kept.commit, snapshot: kept.snapshot })
  const next = await scene.open(scene.resumed(again)).ready()
  expect(await fingerprintOf(work, sample.env)).toEqual(before)
  await next.loop.release()
})

it('comes back as it was pushed since, with what was kept beside it', async () => {
  const driver = scene.driver()
  const harness = await scene.open(scene.resumed(kept), { driver }).ready()
  await writeFiles(work, { 'later.txt': 'later\n' })
  await sample.sh(work, 'add', 'later.txt')
  // A parking that pushes, and is refused after that.
  const { state } = driver
  if (state === undefined) throw new Error('no state')
  driver.state = {
    ...state,
    capture: () => Promise.reject(new BalletError({ code: 'disk.full', message: 'Full.' })),
  }
  await harness.loop.park(scene.order({ kept: kept.files }))
  await harness.untilItem('refused')
  const pushed = (await harness.untilItem('pushed')).commit
  expect(pushed).not.toBe(kept.commit)
  driver.state = state
  await remove()
  await goOn(harness)
  const now = await fingerprintOf(work, sample.env)
  expect(await sample.sh(work, 'status', '--short')).toContain('A  later.txt')
  expect(await content('.env')).toBe('KEY=1\n')
  expect(now.stashes).toEqual(before.stashes)
  expect(told(harness)).toEqual([
    expect.stringContaining(`last pushed, up to ${pushed.slice(0, 12)}`),
  ])

  // The next lease is told the same by the host; so is one that finds nothing when it parks.
  await harness.loop.release()
  await remove()
  const spec = { ...restoredBefore({ behind: true }), pushedCommit: pushed }
  const next = await scene.open(spec).ready()
  expect(await fingerprintOf(work, sample.env)).toEqual(now)
  await remove()
  await next.loop.park(scene.order({ kept: kept.files }))
  const { work: again } = await next.untilItem('parked')
  expect(again).toMatchObject({ commit: pushed })
  const last = await scene.open({ ...scene.resumed(again), pushedCommit: pushed }).ready()
  expect(await fingerprintOf(work, sample.env)).toEqual(now)
  await last.loop.release()
})

it('comes back as it was pushed by a stop, with what was kept beside it', async () => {
  const harness = await scene.open(scene.resumed(kept)).ready()
  await writeFile(join(work, 'later.txt'), 'later\n')
  await harness.loop.stop()
  const pushed = (await harness.untilItem('pushed')).commit
  await remove()
  const spec = { ...restoredBefore({ behind: true }), pushedCommit: pushed }
  const next = await scene.open(spec).ready()
  expect(await content('later.txt')).toBe('later\n')
  expect(await content('.env')).toBe('KEY=1\n')
  expect(await sample.sh(work, 'status', '--short')).toContain('?? later.txt')
  await next.loop.release()
})

it('goes to the branch as it was kept, where the session is finished', async () => {
  const harness = await scene.open(scene.resumed(kept)).ready()
  // A finish carries no stash.
  await sample.sh(work, 'stash', 'drop', '--quiet')
  await remove()
  await harness.loop.finish('The work\n')
  const refusal = await harness.untilItem('refused')
  // The stash is kept with the rest: nothing is removed over it.
  expect(refusal.refusal).toMatchObject({ code: 'workspace.not-pushed' })
  expect(existsSync(join(work, 'new.txt'))).toBe(true)
  // As after a restore: the host knows that it is there, and what of it is not.
  expect(harness.items.filter(({ type }) => type === 'workspace')).toHaveLength(2)
  await sample.sh(work, 'stash', 'drop', '--quiet')
  await harness.loop.finish('The work\n')
  expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'finished', kept: false })
  const show = sample.sh(sample.remote, 'show', `${sample.plan().branch}:src/a.txt`)
  expect(await show).toBe('staged, and changed again')
})
