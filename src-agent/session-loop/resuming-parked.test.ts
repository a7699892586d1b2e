import { mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ParkedWork } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { type Fingerprint, fingerprintOf } from '../parking/testing/fingerprint.ts'
import { makeSample, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { makeDelivery, makeSpec, until } from './loop-harness.ts'
import { ParkedScene, stepsOf } from './parked-scene.ts'

let sample: Sample
let scene: ParkedScene
let work: string
let kept: ParkedWork
let before: Fingerprint
beforeEach(async () => {
  sample = await makeSample()
  scene = new ParkedScene(sample)
  work = sample.plan().workspaceDir
  await sample.commit('main', { 'gone.txt': 'gone\n', 'old name.txt': 'renamed\n' })
  const harness = await scene.open().ready()
  await writeFiles(work, { 'src/a.txt': 'staged\n', 'new file.txt': 'new\n', '.env': 'KEY=1\n' })
  await sample.sh(work, 'add', 'src/a.txt')
  await writeFiles(work, { 'src/a.txt': 'staged, and changed again\n', 'gone.txt': null })
  await sample.sh(work, 'mv', 'old name.txt', 'new name.txt')
  await mkdir(join(work, 'empty'))
  await scene.converse('all that was said\n')
  before = await fingerprintOf(work, sample.env)
  await harness.loop.park(scene.order())
  kept = (await harness.untilItem('parked')).work
  await harness.untilItem('ended')
})
afterEach(() => sample.remove())

const keptFile = (kind: string) =>
  join(scene.keptDir, kept.files.find((file) => file.kind === kind)?.name ?? 'none')

describe('resuming a parked session', () => {
  it('restores the work and the state under another path, proves, and is ready', async () => {
    const dataDir = join(sample.folder, 'elsewhere', 'deeper', 'data')
    await mkdir(dataDir, { recursive: true })
    const workspaceDir = join(dataDir, 'workspaces', 'SHOP-1-other1')
    const setup = { command: 'echo set up > ignored.log; echo ignored.log >> .git/info/exclude' }
    const harness = scene.open(
      scene.resumed(kept, {
        ...{ workspaceDir, mirrorDir: join(dataDir, 'mirrors', 'p.git') },
        setup: { ...setup, limitMs: null },
      }),
      { dataDir, driver: scene.driver('other-runtime') },
    )
    await harness.ready()
    expect(stepsOf(harness.items, 'resume.step')).toEqual(
      ['clone', 'restore', 'setup', 'state', 'prove'].flatMap((step) => [
        `${step} started`,
        `${step} done`,
      ]),
    )
    expect(await fingerprintOf(workspaceDir, sample.env)).toEqual(before)
    const file = scene.conversationFile(workspaceDir, 'other-runtime')
    expect(await readFile(file, 'utf8')).toBe('all that was said\n')
    expect(harness.driver.facts).toMatchObject([{ conversation: 'conversation-1', turn: 1 }])
    harness.loop.deliver(makeDelivery('the answer'))
    await harness.untilAsked('send the answer')
    await harness.loop.release()
    // A later lease finds the workspace, and does not set it up again.
    const next = scene.open(
      scene.resumed(kept, { workspaceDir, mirrorDir: join(dataDir, 'mirrors', 'p.git') }),
      {
        ...{ dataDir, driver: scene.driver('other-runtime') },
      },
    )
    await next.ready()
    expect(stepsOf(next.items, 'resume.step')).not.toContain('restore done')
    await next.loop.release()
  })

  it('ends with the workspace restored when the state is of no use', async () => {
    const state = keptFile('state')
    const spoiled: [string, () => Promise<unknown>][] = [
      ['cut', () => truncate(state, 40)],
      ['gone', () => rm(state)],
    ]
    const whole = await readFile(state)
    for (const [what, spoil] of spoiled) {
      await writeFile(state, whole)
      await spoil()
      const harness = scene.open(scene.resumed(kept)).start()
      const ended = await harness.untilItem('ended')
      expect(ended, what).toMatchObject({
        ...{ outcome: 'failed', kept: true },
        refusal: { code: 'runtime.conversation-lost', hint: expect.any(String) },
      })
      expect(stepsOf(harness.items, 'resume.step').at(-1)).toBe('state failed')
      expect(harness.driver.asked, what).not.toContain('resume')
      await rm(work, { recursive: true })
    }
  })

  it('fails, and is not taken for lost, when the state opens with another key', async () => {
    // With another key nothing sealed opens: the work is restored without it here.
    const work = { ...kept, ...(await committedOnly()) }
    const resumed = scene.resumed(work)
    const key = Buffer.alloc(32, 1).toString('base64')
    const parked = { ...(resumed.parked as object), key }
    const failed = scene.open({ ...resumed, parked }).start()
    expect(await failed.untilItem('ended')).toMatchObject({
      ...{ outcome: 'failed', kept: true },
      refusal: { code: 'state.wrong-key', hint: expect.stringContaining('key') },
    })
    expect(stepsOf(failed.items, 'resume.step').at(-1)).toBe('state failed')
    const harness = await scene.open(scene.resumed(work)).ready()
    expect(harness.driver.facts).toMatchObject([{ conversation: 'conversation-1' }])
    await harness.loop.release()
  })

  it('ends with the workspace restored when the runtime does not prove that it has the conversation', async () => {
    const driver = scene.driver()
    driver.launches = [new BalletError({ code: 'runtime.conversation-lost', message: 'not known' })]
    const harness = scene.open(scene.resumed(kept), { driver }).start()
    expect(await harness.untilItem('ended')).toMatchObject({
      ...{ outcome: 'failed', kept: true, refusal: { code: 'runtime.conversation-lost' } },
    })
    expect(stepsOf(harness.items, 'resume.step').at(-1)).toBe('prove failed')
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
  })

  it('begins a new conversation in the restored workspace when there is none to go on with', async () => {
    const resumed = scene.resumed(kept)
    const harness = scene.open({
      ...resumed,
      resume: { ...(resumed.resume as object), conversation: null },
    })
    await harness.ready()
    expect(harness.driver.asked).toContain('start')
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    await harness.loop.release()
  })

  it('says that another version of the runtime goes on', async () => {
    const written = { ...kept, state: { ...kept.state, runtimeVersion: '0.9.0' } } as ParkedWork
    const harness = await scene.open(scene.resumed(written)).ready()
    const notice = await until('the notice', () =>
      harness.events('notice').find(({ code }) => code === 'resume.version'),
    )
    expect(notice.text).toMatch(/0\.9\.0 .* 1\.0\.0/)
    await harness.loop.release()
  })

  it('keeps the commits of others, and tells how they differ', async () => {
    const { branch } = sample.plan()
    await sample.commit(branch, { 'theirs.txt': 'theirs\n' })
    const harness = await scene.open(scene.resumed(kept)).ready()
    const notice = harness.events('notice').find(({ code }) => code === 'branch.moved')
    expect(notice?.text).toContain('A theirs.txt')
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    await harness.loop.release()
  })

  it('needs no remote on the same machine, and no branch there', async () => {
    const { branch } = sample.plan()
    await sample.sh(sample.remote, 'update-ref', '-d', `refs/heads/${branch}`)
    await sample.sh(sample.remote, 'gc', '-q', '--prune=now')
    const deleted = await scene.open(scene.resumed(kept)).ready()
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    const codes = deleted.events('notice').map(({ code }) => code)
    expect(codes).toContain('branch.gone')
    await deleted.loop.release()
    await rm(work, { recursive: true })
    await rm(sample.remote, { recursive: true })
    const harness = await scene.open(scene.resumed(kept)).ready()
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    await harness.loop.release()
  })

  it('fails without a trace while the work is not to be had, and is done again', async () => {
    const away = `${sample.remote}.away`
    await rename(sample.remote, away)
    const elsewhere = { mirrorDir: join(sample.dataDir, 'mirrors', 'other.git') }
    const failed = scene.open(scene.resumed(kept, elsewhere)).start()
    expect(await failed.untilItem('ended')).toMatchObject({
      ...{ outcome: 'failed', kept: false, refusal: { hint: expect.any(String) } },
    })
    expect(stepsOf(failed.items, 'resume.step').at(-1)).toBe('clone failed')
    await rename(away, sample.remote)
    const harness = await scene.open(scene.resumed(kept, elsewhere)).ready()
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    await harness.loop.release()
  })

  it('is parked again while it is being brought back, with the same work', async () => {
    const harness = scene.open(scene.resumed(kept)).start()
    await until('the restore', () =>
      stepsOf(harness.items, 'resume.step').includes('restore started'),
    )
    await harness.loop.park(scene.order({ kept: kept.files }))
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'parked', kept: false })
    const { work: again } = await harness.untilItem('parked')
    expect(again).toEqual(kept)
    const next = await scene.open(scene.resumed(again)).ready()
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    await next.loop.release()
  })

  it('is stopped while it is being brought back, and leaves on the branch what is kept', async () => {
    const driver = scene.driver()
    driver.launches = ['hang']
    const harness = scene.open(scene.resumed(kept), { driver }).start()
    await harness.untilAsked('resume')
    await harness.loop.stop()
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'stopped' })
    expect(harness.items.filter(({ type }) => type === 'pushed')).toEqual([])
    const { branch } = sample.plan()
    expect(await sample.sh(sample.remote, 'rev-parse', branch)).toBe(kept.commit)
    // Its workspace goes, as that of every session whose work is kept.
    await rm(work, { recursive: true })
    const next = await scene.open(scene.resumed(kept)).ready()
    expect(await fingerprintOf(work, sample.env)).toEqual(before)
    await next.loop.release()
  })
})

/** The same without what is sealed beside the commits. */
async function committedOnly(): Promise<Partial<ParkedWork>> {
  const spec = makeSpec(sample)
  const files = kept.files.filter(({ kind }) => kind === 'state')
  const commit = await sample.sh(sample.remote, 'rev-parse', spec.baseBranch)
  return { commit, files, snapshot: { ...kept.snapshot, workInProgress: false } }
}
