import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Probe, SessionMarker } from '../../src-shared/agent-wire.ts'
import type { ParkedWork } from '../../src-shared/parking.ts'
import { HandClock } from '../port/hand-clock.ts'
import { runProbe } from '../probes/probe.ts'
import { makeSample, never, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { KEY, ParkedScene } from './parked-scene.ts'

let sample: Sample
let scene: ParkedScene
beforeEach(async () => {
  sample = await makeSample()
  scene = new ParkedScene(sample)
})
afterEach(() => sample.remove())

const AT = '2026-01-02T03:04:05.000Z'

const ask = (probe: Probe) =>
  runProbe(probe, 30_000, {
    ...{ dataDir: sample.dataDir, env: sample.env, drivers: {}, signal: never },
    ...{ clock: new HandClock(), running: new Set() },
  })

/** A parked session with uncommitted work. */
async function parked(): Promise<ParkedWork> {
  const harness = await scene.open().ready()
  const work = sample.plan().workspaceDir
  await writeFiles(work, { 'src/a.txt': 'staged\n', 'new file.txt': 'new\n' })
  await sample.sh(work, 'add', 'src/a.txt')
  await writeFiles(work, { 'src/a.txt': 'staged, and changed again\n' })
  await mkdir(join(work, 'empty'))
  await scene.converse('all that was said\n')
  await harness.loop.park(scene.order())
  return (await harness.untilItem('parked')).work
}

/** What Core says of it, whatever it asks for. */
function unheld(work: ParkedWork) {
  const { dataDir: _, ...plan } = sample.plan({ pushedCommit: work.commit })
  const session = SessionMarker.shape.session.parse(plan.session)
  return {
    ...{ ...plan, session, work, key: KEY, keptDir: scene.keptDir, message: 'Work\n' },
    ticket: 'SHOP-1' as Extract<Probe, { kind: 'park.finish' }>['ticket'],
    marker: { session, nonce: '0'.repeat(16) },
    env: { GIT_AUTHOR_DATE: AT, GIT_COMMITTER_DATE: AT },
  }
}

const finish = (work: ParkedWork, changes: object = {}) =>
  ask({ kind: 'park.finish', ...unheld(work), ...changes })

/** What Core has on record of it from then on. */
async function keep(work: ParkedWork, more: { behind?: true } = {}): Promise<ParkedWork> {
  const names = { keep: work.files.map(({ name }) => name) }
  const { finding, refusal } = await ask({ kind: 'park.keep', ...unheld(work), ...names, ...more })
  expect(refusal).toBeNull()
  if (finding?.kind !== 'park.keep') throw new Error(`It found ${finding?.kind}.`)
  return finding.replaced ?? work
}

const tipOf = (branch: string) => sample.sh(sample.remote, 'rev-parse', branch)

it('the work of a parked session is committed and pushed without its runtime, as the same commit each time', async () => {
  const work = await parked()
  const { branch } = sample.plan()
  const first = await finish(work)
  expect(first.refusal).toBeNull()
  const tip = await sample.sh(sample.remote, 'rev-parse', branch)
  expect(first.finding).toMatchObject({ kind: 'park.finish', commit: tip })
  // It leaves nothing, and touches no workspace.
  for (const name of ['workspaces', 'scratch']) {
    expect(await readdir(join(sample.dataDir, name)), name).toEqual([])
  }
  expect(await sample.sh(sample.remote, 'log', '--format=%s', `main..${branch}`)).toBe('Work')
  const show = (file: string) => sample.sh(sample.remote, 'show', `${branch}:${file}`)
  expect(await show('src/a.txt')).toBe('staged, and changed again')
  expect(await show('new file.txt')).toBe('new')
  // Nobody may have seen that it was pushed, and a try that was cut may have left something.
  const nonce = '0'.repeat(16)
  await writeFiles(join(sample.dataDir, 'scratch', `finish-${nonce}`), { 'workspaces/x': 'x' })
  const again = await finish(work)
  expect(again.refusal).toBeNull()
  expect(again.finding).toMatchObject({ commit: tip })
})

it('what a finish replaces on the remote is kept, and comes back there when the finish is not on record', async () => {
  const before = await parked()
  const { branch, mirrorDir } = sample.plan()
  await writeFile(
    join(scene.keptDir, 'bundle-0000000000000000.sealed'),
    'of a try that nobody heard of',
  )
  const work = await keep(before)
  expect((await readdir(scene.keptDir)).sort()).toEqual(work.files.map(({ name }) => name).sort())
  expect(work.files.map(({ kind }) => kind)).toContain('bundle')
  // Nothing is pushed by it, nothing else is left, and it may be done again.
  expect(await tipOf(branch)).toBe(before.commit)
  expect(await readdir(join(sample.dataDir, 'scratch'))).toEqual([])
  expect(await keep(work)).toEqual(work)

  const finished = await finish(work)
  expect(finished).toMatchObject({ refusal: null, finding: { commit: await tipOf(branch) } })
  expect(await tipOf(branch)).not.toBe(before.commit)
  // Nothing has the parked commit any more but what is kept.
  await rm(mirrorDir, { recursive: true })
  await sample.sh(sample.remote, 'gc', '--quiet', '--prune=now')
  const { repo, baseBranch, pushedCommit, key, keptDir, marker } = unheld(work)
  const plan = { repo, baseBranch, branch, pushedCommit, mirrorDir, env: {} }
  const push = { kind: 'park.push' as const, ...plan, work, key, keptDir, marker }
  expect(await ask(push)).toMatchObject({ finding: { commit: before.commit } })
  expect(await tipOf(branch)).toBe(before.commit)
})

it.each([{}, { behind: true as const }])(
  'an older bundle, of what was pushed since, gives way to that of what is replaced: %o',
  async (more) => {
    const before = await parked()
    const name = 'bundle-0000000000000001.sealed'
    await writeFile(join(scene.keptDir, name), 'it is not whole any more')
    const [file] = before.files
    if (file === undefined) throw new Error('Nothing is kept.')
    const older = { ...file, kind: 'bundle' as const, name }
    const work = await keep({ ...before, files: [...before.files, older] }, more)
    const bundles = work.files.filter(({ kind }) => kind === 'bundle')
    expect(bundles).toMatchObject([{ name: expect.not.stringMatching(name) }])
    expect(work).toMatchObject({ pushed: false, notPushed: { code: 'finish.replaces' } })
  },
)

it('a finish that replaces nothing keeps nothing more', async () => {
  const harness = await scene.open().ready()
  const { workspaceDir } = sample.plan()
  await writeFiles(workspaceDir, { 'done.txt': 'done\n' })
  await sample.sh(workspaceDir, 'add', '.')
  await sample.sh(workspaceDir, 'commit', '--quiet', '-m', 'Done')
  await scene.converse('all that was said\n')
  await harness.loop.park(scene.order())
  const { work } = await harness.untilItem('parked')
  expect(await keep(work)).toEqual(work)
})

it('a branch that somebody moved is left as it is', async () => {
  const work = await parked()
  const { branch } = sample.plan()
  const theirs = await sample.commit(branch, { 'theirs.txt': 'theirs\n' })
  expect((await finish(work)).refusal).toMatchObject({ code: 'push.rejected' })
  expect(await sample.sh(sample.remote, 'rev-parse', branch)).toBe(theirs)
})

it('what is kept is finished without a file that was left out before', async () => {
  const harness = await scene.open().ready()
  await writeFiles(sample.plan().workspaceDir, { '.env': 'KEY=1\n', 'new.txt': 'new\n' })
  await scene.converse('all that was said\n')
  await harness.loop.park(scene.order())
  const { work: whole } = await harness.untilItem('parked')
  const files = whole.files.filter(({ kind }) => kind !== 'aside')
  expect(files.length).toBeLessThan(whole.files.length)
  const work = { ...whole, files }
  expect((await finish(work)).refusal).toMatchObject({ code: 'snapshot.incomplete' })
  expect((await finish(work, { partial: true })).refusal).toBeNull()
  const { branch } = sample.plan()
  expect(await sample.sh(sample.remote, 'ls-tree', '--name-only', branch)).toContain('new.txt')
  expect(await sample.sh(sample.remote, 'ls-tree', '--name-only', branch)).not.toContain('.env')
})

it('what was kept and is not whole any more restores nothing', async () => {
  const work = await parked()
  const files = work.files.map((file) => ({ ...file, kind: 'aside' as const }))
  const { refusal } = await finish({ ...work, files }, { keptDir: join(scene.keptDir, 'gone') })
  expect(refusal).toMatchObject({ code: 'state.missing' })
})
