import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { RESUMED_WITHOUT, WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import type { KeptFileKind, ParkedWork } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { fingerprintOf } from '../parking/testing/fingerprint.ts'
import { makeSample, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import type { LoopHarness } from './loop-harness.ts'
import { KEY, ParkedScene } from './parked-scene.ts'

// Many commands of git on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000 })

let sample: Sample
let scene: ParkedScene
let work: string
beforeEach(async () => {
  sample = await makeSample()
  scene = new ParkedScene(sample)
  work = sample.plan().workspaceDir
})
afterEach(() => sample.remove())

const sh = (...args: string[]) => sample.sh(work, ...args)
const content = (name: string) => readFile(join(work, name), 'utf8')

async function parkWith(prepare: () => Promise<unknown>): Promise<ParkedWork> {
  const harness = await scene.open().ready()
  await prepare()
  await scene.converse('all that was said\n')
  await harness.loop.park(scene.order())
  const { work: kept } = await harness.untilItem('parked')
  await harness.untilItem('ended')
  return kept
}

/** Gives its name. */
async function damage(kept: ParkedWork, kind: KeptFileKind): Promise<string> {
  const { name } = kept.files.find((file) => file.kind === kind) ?? { name: 'none' }
  const path = join(scene.keptDir, name)
  const bytes = await readFile(path)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 3) ^ 1, bytes.length - 3)
  await writeFile(path, bytes)
  return name
}

const place = () => ({ key: KEY, keptDir: scene.keptDir, restored: false })

const openWithout = (kept: ParkedWork): Promise<LoopHarness> =>
  scene
    .open(scene.resumed(kept, { parked: { work: kept, ...place(), withoutDamaged: true } }))
    .ready()

const said = (harness: LoopHarness) =>
  harness.events('notice').find(({ code }) => code === RESUMED_WITHOUT)?.text

it('a damaged file beside the commits is named, and left out only where a person said so', async () => {
  const kept = await parkWith(() =>
    writeFiles(work, { '.env': 'KEY=1\n', 'src/a.txt': 'changed\n', 'new.txt': 'new\n' }),
  )
  const name = await damage(kept, 'aside')
  const refused = scene.open(scene.resumed(kept)).start()
  const { refusal } = await refused.untilItem('ended')
  expect(refusal).toMatchObject({
    ...{ code: 'state.corrupt', hint: expect.stringContaining('--without-damaged') },
    message: expect.stringMatching(new RegExp(`${name}.*\\.env`)),
  })
  expect(existsSync(work)).toBe(false)

  const harness = await openWithout(kept)
  expect(await content('src/a.txt')).toBe('changed\n')
  expect(await content('new.txt')).toBe('new\n')
  expect(existsSync(join(work, '.env'))).toBe(false)
  expect(said(harness)).toContain(`${name} (files that were not for the remote: .env)`)
  expect(await harness.untilItem('workspace')).toMatchObject({ leftOut: [name] })
  // It stays where it is when the session is parked again.
  const kinds = kept.files.filter(({ kind }) => kind !== 'aside')
  await harness.loop.park(scene.order({ kept: kinds, damaged: [name] }))
  const again = (await harness.untilItem('parked')).work
  await harness.untilItem('ended')
  expect(existsSync(join(scene.keptDir, name))).toBe(true)
  expect(again.files.map((file) => file.name)).not.toContain(name)
  const next = await scene.open(scene.resumed(again)).ready()
  expect(await content('new.txt')).toBe('new\n')
  await next.loop.release()
})

it('without other branches and stashes the files and what is still there of the branches come back', async () => {
  const kept = await parkWith(async () => {
    await sh('branch', 'same', 'HEAD')
    await writeFiles(work, { 'src/a.txt': 'to be stashed\n' })
    await sh('stash', 'push', '-q', '-m', 'for later')
    await sh('checkout', '-q', '-b', 'side')
    await writeFiles(work, { 'side.txt': 'side\n' })
    await sh('add', 'side.txt')
    await sh('commit', '-q', '-m', 'side')
    await sh('checkout', '-q', sample.plan().branch)
    await writeFiles(work, { 'new.txt': 'new\n' })
  })
  const name = await damage(kept, 'refs')
  await rm(sample.plan().mirrorDir, { recursive: true })
  const harness = await openWithout(kept)
  expect(await content('new.txt')).toBe('new\n')
  expect(await sh('for-each-ref', '--format=%(refname)', 'refs/heads')).toContain('same')
  expect(await sh('stash', 'list')).toBe('')
  expect(said(harness)).toContain(name)
  expect(said(harness)).toContain('Not restored: side, the stash "On ')
  await harness.loop.release()
})

it('without the archive of the whole workspace there is what was committed', async () => {
  const kept = await parkWith(async () => {
    await writeFiles(work, { 'done.txt': 'done\n' })
    await sh('add', 'done.txt')
    await sh('commit', '-q', '-m', 'done')
    await writeFiles(work, { 'inner/x.txt': 'x\n', 'src/a.txt': 'changed\n' })
    await sample.sh(join(work, 'inner'), 'init', '-q')
  })
  await damage(kept, 'archive')
  const harness = await openWithout(kept)
  expect(await content('done.txt')).toBe('done\n')
  expect(await content('src/a.txt')).not.toBe('changed\n')
  expect(said(harness)).toContain('the whole workspace, with what was not committed')
  await harness.loop.release()
})

/** As Core tells it once the session was restored without the file. */
const afterwards = (kept: ParkedWork, name: string) => {
  const files = kept.files.filter((file) => file.name !== name)
  const work = { ...kept, files }
  const parked = { work, ...place(), restored: true, withoutDamaged: true, partial: true }
  return scene.resumed(kept, { parked })
}

it.each(['aside', 'refs'] as const)(
  'without the file of kind %s a workspace that is lost after that comes back again, also when it is parked without one',
  async (kind) => {
    const kept = await parkWith(async () => {
      await writeFiles(work, { 'src/a.txt': 'to be stashed\n' })
      await sh('stash', 'push', '-q', '-m', 'for later')
      await writeFiles(work, { '.env': 'KEY=1\n', 'src/a.txt': 'changed\n', 'new.txt': 'new\n' })
    })
    const name = await damage(kept, kind)
    await rm(sample.plan().mirrorDir, { recursive: true })
    const first = await openWithout(kept)
    await first.loop.release()
    await rm(work, { recursive: true })
    const again = await scene.open(afterwards(kept, name)).ready()
    expect(await content('src/a.txt')).toBe('changed\n')
    expect(await content('new.txt')).toBe('new\n')
    expect(existsSync(join(work, '.env'))).toBe(kind === 'refs')
    const told = again.events('notice').find(({ code }) => code === WORKSPACE_GONE)?.text
    expect(told).toContain('Kept files that are damaged are left out, as before.')
    // Nothing but what was kept is there to be parked.
    await rm(work, { recursive: true })
    const files = kept.files.filter((file) => file.name !== name)
    await again.loop.park(scene.order({ kept: files, damaged: [name] }))
    const parked = (await again.untilItem('parked')).work
    await again.untilItem('ended')
    expect(parked.files.map((file) => file.name)).not.toContain(name)
    const last = await scene.open(scene.resumed(parked)).ready()
    expect(await content('new.txt')).toBe('new\n')
    await last.loop.release()
  },
)

it.each(['this lease', 'an earlier lease'])(
  'a parking that fails removes nothing that %s left out',
  async (which) => {
    const kept = await parkWith(async () => {
      await writeFiles(work, { 'inner/x.txt': 'x\n', 'src/a.txt': 'changed\n' })
      await sample.sh(join(work, 'inner'), 'init', '-q')
    })
    const archive = kept.files.find(({ kind }) => kind === 'archive')?.name ?? 'none'
    const resumed = await scene.open(scene.resumed(kept)).ready()
    await rm(join(work, 'inner'), { recursive: true })
    await resumed.loop.stop()
    const { commit } = await resumed.untilItem('pushed')
    await rm(work, { recursive: true })
    const parked = { work: kept, ...place(), restored: true, behind: true }
    const later = { ...scene.resumed(kept, { parked }), pushedCommit: commit }
    let harness = await scene.open(later).ready()
    expect(await harness.untilItem('workspace')).toMatchObject({ leftOut: [archive] })
    let order = scene.order({ kept: kept.files })
    if (which === 'an earlier lease') {
      await harness.loop.release()
      order = scene.order({
        kept: kept.files.filter(({ name }) => name !== archive),
        damaged: [archive],
      })
      harness = await scene.open({ ...later, kept: kept.files.map(({ name }) => name) }).ready()
    }
    const { state } = harness.driver
    if (state === undefined) throw new Error('no state')
    harness.driver.state = {
      ...state,
      capture: () => Promise.reject(new BalletError({ code: 'disk.full', message: 'Full.' })),
    }
    await harness.loop.park(order)
    await harness.untilItem('refused')
    expect(existsSync(join(scene.keptDir, archive))).toBe(true)
    harness.driver.state = state
    await harness.loop.park(order)
    await harness.untilItem('ended')
    expect(existsSync(join(scene.keptDir, archive))).toBe(true)
  },
)

it('what is whole is restored as ever where a person would do without', async () => {
  const kept = await parkWith(() => writeFiles(work, { '.env': 'KEY=1\n', 'new.txt': 'new\n' }))
  const harness = await openWithout(kept)
  expect((await fingerprintOf(work, sample.env)).status).toEqual(
    expect.arrayContaining([expect.stringContaining('.env')]),
  )
  expect(said(harness)).toBeUndefined()
  expect(await harness.untilItem('workspace')).not.toHaveProperty('leftOut')
  await harness.loop.release()
})
