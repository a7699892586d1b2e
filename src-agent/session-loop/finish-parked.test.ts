import { mkdir, readdir } from 'node:fs/promises'
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

/** As Core asks for it. */
async function finish(work: ParkedWork, changes: object = {}) {
  const { dataDir: _, ...plan } = sample.plan({ pushedCommit: work.commit })
  const session = SessionMarker.shape.session.parse(plan.session)
  const unheld = {
    ...{ ...plan, session },
    ticket: 'SHOP-1' as Extract<Probe, { kind: 'park.finish' }>['ticket'],
    marker: { session, nonce: '0'.repeat(16) },
  }
  const kept = { work, key: KEY, keptDir: scene.keptDir, ...changes }
  const env = { GIT_AUTHOR_DATE: AT, GIT_COMMITTER_DATE: AT }
  return ask({ kind: 'park.finish', ...unheld, ...kept, env, message: 'Work\n' })
}

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

it('a branch that somebody moved is left as it is', async () => {
  const work = await parked()
  const { branch } = sample.plan()
  const theirs = await sample.commit(branch, { 'theirs.txt': 'theirs\n' })
  expect((await finish(work)).refusal).toMatchObject({ code: 'push.rejected' })
  expect(await sample.sh(sample.remote, 'rev-parse', branch)).toBe(theirs)
})

it('what was kept and is not whole any more restores nothing', async () => {
  const work = await parked()
  const files = work.files.map((file) => ({ ...file, kind: 'aside' as const }))
  const { refusal } = await finish({ ...work, files }, { keptDir: join(scene.keptDir, 'gone') })
  expect(refusal).toMatchObject({ code: 'state.missing' })
})
