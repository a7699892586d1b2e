import { randomBytes } from 'node:crypto'
import { appendFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BalletError } from '../../src-shared/refusal.ts'
import { type Git, gitFailure } from '../git/run.ts'
import { newMarker } from '../process-tree/testing/new-marker.ts'
import { createClaudeCodeDriver } from '../runtimes/claude-code/index.ts'
import { slugOf } from '../runtimes/claude-code/transcript.ts'
import { removeWorkspace } from '../workspace/folders.ts'
import { never, writeFiles } from '../workspace/sample-repository.ts'
import { restoreWorkspace } from './restore.ts'
import { verifySealed } from './sealed-file.ts'
import { captureSessionState, restoreSessionState } from './session-state.ts'
import { takeSnapshot } from './snapshot.ts'
import { KEY, makeParkingScene, type ParkingScene, parkedWork } from './testing/parking-scene.ts'
import { CAN_MOUNT, mountDisk } from './testing/small-disk.ts'

// Many commands of git on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

let scene: ParkingScene
const full = expect.objectContaining({ code: 'disk.full', hint: expect.any(String) })

beforeEach(async () => {
  scene = await makeParkingScene({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
})
afterEach(() => scene.sample.remove())

/** Work of every kind, so that every step has something to do. */
async function work() {
  await scene.sh('commit', '--quiet', '--allow-empty', '-m', 'Mine')
  await writeFiles(scene.work, { 'b.txt': 'stashed\n' })
  await scene.sh('stash', 'push', '--quiet')
  await writeFiles(scene.work, { 'a.txt': 'staged\n', '.env': 'SECRET=1\n', 'soon.txt': 'soon\n' })
  await scene.sh('add', 'a.txt')
  await scene.sh('add', '--intent-to-add', 'soon.txt')
  await scene.sh('update-index', '--assume-unchanged', 'b.txt')
  await writeFiles(scene.work, { 'a.txt': 'changed again\n', 'new.txt': 'new\n', link: '-> a.txt' })
  await mkdir(join(scene.work, 'empty'))
}

/** A git of which the call with this number fails, as by a kill or a full disk. */
function failingAt(git: Git, number: number): Git & { calls(): number } {
  let calls = 0
  const run: Git['run'] = async (args, options) => {
    calls += 1
    if (calls === number) throw new BalletError({ code: 'git.failed', message: `call ${number}` })
    return git.run(args, options)
  }
  return {
    env: git.env,
    run,
    text: async (args, options) => {
      const result = await run(args, options)
      if (result.exitCode !== 0) throw gitFailure(args, result, options.about)
      return result.stdout.toString('utf8').replace(/\n$/, '')
    },
    calls: () => calls,
  }
}

const callsOf = async (run: (git: Git) => Promise<unknown>) => {
  const counting = failingAt(scene.sample.git, 0)
  await run(counting)
  return counting.calls()
}

describe('a failure at any call of git', () => {
  it('while the snapshot is taken touches nothing, and the next attempt is whole', async () => {
    await work()
    const { sample, target } = scene
    const before = await scene.seen()
    const take = (git: Git) => takeSnapshot(git, sample.plan(), target, sample.report, never)
    const calls = await callsOf(take)
    expect(calls).toBeGreaterThan(20)
    await rm(target.folder, { recursive: true })
    for (let number = 1; number <= calls; number += 1) {
      await expect(take(failingAt(sample.git, number))).rejects.toThrow(BalletError)
      const kept = await readdir(target.folder).catch(() => [])
      // What stands under its name is whole.
      for (const name of kept) await verifySealed(join(target.folder, name), KEY)
      if (number % 5 === 0) expect(await scene.seen()).toEqual(before)
    }
    expect(await scene.seen()).toEqual(before)
    const parked = await scene.park()
    const plan = await scene.elsewhere(parked)
    await scene.restore(plan, parked.work)
    expect(await scene.seen(plan.workspaceDir)).toEqual(before)
  })

  it('while it is restored leaves no workspace, and the next attempt is whole', async () => {
    await work()
    const { sample } = scene
    const before = await scene.seen()
    const parked = await scene.park()
    const plan = sample.plan({ pushedCommit: parked.snapshot.commit })
    const restore = (git: Git) => restoreWorkspace(git, plan, parked.work, sample.report, never)
    const calls = await callsOf(restore)
    expect(calls).toBeGreaterThan(40)
    for (let number = 1; number <= calls; number += 3) {
      await removeWorkspace(sample.dataDir, scene.work)
      const failed = await restore(failingAt(sample.git, number)).catch((error: unknown) => error)
      const isGone = (await readdir(join(scene.work, '..'))).length === 0
      // The look for an older workspace, and what only tells, may fail without harm.
      if (failed instanceof Error) expect(isGone).toBe(true)
      else expect(await scene.seen()).toEqual(before)
    }
    await removeWorkspace(sample.dataDir, scene.work)
    await restore(sample.git)
    expect(await scene.seen()).toEqual(before)
  })
})

describe('what a killed attempt left', () => {
  it("is in nobody's way", async () => {
    await work()
    const before = await scene.seen()
    const git = join(scene.work, '.git')
    await mkdir(join(git, 'ballet-scan'))
    await writeFile(join(git, 'ballet-scan', 'index.lock'), 'half')
    await mkdir(join(git, 'refs', 'ballet'), { recursive: true })
    await writeFile(join(git, 'refs', 'ballet', 'snapshot.lock'), '')
    await writeFile(join(git, 'index.lock'), 'of a git of the agent')
    await mkdir(scene.target.folder)
    for (const name of ['aside.sealed.part', 'refs.bundle', 'refs.bundle.lock']) {
      await writeFile(join(scene.target.folder, name), randomBytes(100))
    }
    const parked = await scene.park()
    expect((await readdir(scene.target.folder)).sort()).toEqual(['aside.sealed', 'refs.sealed'])
    const plan = await scene.elsewhere(parked)
    const half = join(plan.dataDir, 'workspaces', '.new-SHOP-1-other1')
    await mkdir(half, { recursive: true })
    await writeFile(join(half, 'a.txt'), 'half')
    await scene.restore(plan, parked.work)
    expect(await scene.seen(plan.workspaceDir)).toEqual(before)
  })

  it('a cancelled archive leaves nothing, and can be made again', async () => {
    await mkdir(join(scene.work, 'inner'))
    await scene.sample.sh(join(scene.work, 'inner'), 'init', '--quiet')
    await writeFile(join(scene.work, 'inner', 'large'), randomBytes(8_000_000))
    const stop = new AbortController()
    const { sample, target } = scene
    const report = { ...sample.report, notice: () => undefined }
    const taking = takeSnapshot(sample.git, sample.plan(), target, report, stop.signal)
    await vi.waitFor(
      async () => expect(await readdir(target.folder)).toContain('workspace.sealed.part'),
      20_000,
    )
    stop.abort()
    await expect(taking).rejects.toThrow()
    expect(await readdir(target.folder)).toEqual([])
    expect((await scene.take()).archive).not.toBeNull()
  })
})

describe.skipIf(!CAN_MOUNT)('a full disk', () => {
  let disk: Awaited<ReturnType<typeof mountDisk>>
  let folder: string
  beforeEach(async () => {
    folder = join(scene.sample.folder, 'disk')
    disk = await mountDisk(folder, 40)
  })
  afterEach(async () => {
    await disk.remove()
  })

  it('where the sealed files go: refused, and whole when there is room', async () => {
    await work()
    await writeFile(join(scene.work, 'secret.pem'), randomBytes(4_000_000))
    const before = await scene.seen()
    const target = { folder: join(folder, 'kept') }
    await disk.fill(1_000_000)
    await expect(scene.take(target)).rejects.toEqual(full)
    expect(await readdir(target.folder)).toEqual([])
    expect(await scene.seen()).toEqual(before)
    await disk.free()
    expect((await scene.take(target)).asideArchive).not.toBeNull()
  })

  it('where the workspace is: refused, and whole when there is room', async () => {
    await work()
    const { sample } = scene
    const plan = sample.plan({
      dataDir: folder,
      mirrorDir: join(folder, 'mirrors', 'p.git'),
      workspaceDir: join(folder, 'workspaces', 'SHOP-1-small1'),
    })
    const parked = await scene.park()
    await disk.fill(60_000)
    await expect(scene.restore(plan, parked.work)).rejects.toEqual(full)
    expect(await readdir(join(folder, 'workspaces'))).toEqual([])
    await disk.free()
    await scene.restore(plan, parked.work)

    await writeFile(join(plan.workspaceDir, 'large.txt'), randomBytes(3_000_000))
    const before = await scene.seen(plan.workspaceDir)
    await disk.fill(200_000)
    const take = () => takeSnapshot(sample.git, plan, scene.target, sample.report, never)
    await expect(take()).rejects.toEqual(full)
    expect(await scene.seen(plan.workspaceDir)).toEqual(before)
    await disk.free()
    const snapshot = await take()
    const elsewhere = await scene.elsewhere({ ...parked, snapshot, push: null })
    const { bundleMissing } = await import('./push.ts')
    const bundle = await bundleMissing(sample.git, plan, snapshot.commit ?? '', scene.target, never)
    const kept = parkedWork(snapshot, null)
    await scene.restore(elsewhere, { ...kept, pushBundle: bundle?.file ?? null })
    expect(await scene.seen(elsewhere.workspaceDir)).toEqual(before)
  })

  it('where the state goes, or comes back: refused, and whole when there is room', async () => {
    const driver = createClaudeCodeDriver()
    const conversation = '7f3b0f0e-8d2f-4a5e-9f65-0d0c7f6c1a2b'
    const config = join(folder, 'config')
    const place = {
      ...{ cwd: scene.work, env: { CLAUDE_CONFIG_DIR: config } },
      ...{ executable: null, scratchDir: join(folder, 'scratch'), marker: newMarker() },
    }
    const project = join(config, 'projects', slugOf(scene.work))
    await mkdir(project, { recursive: true })
    const line = () => `${JSON.stringify({ text: randomBytes(500).toString('base64') })}\n`
    const transcript = join(project, `${conversation}.jsonl`)
    await appendFile(transcript, Array.from({ length: 4_000 }, line).join(''))
    const plan = {
      ...{ conversation, place, key: KEY },
      ...{ file: join(folder, 'state.sealed'), scratch: join(folder, 'scratch') },
    }
    await disk.fill(500_000)
    const capture = () => captureSessionState(driver, '1', plan, never)
    await expect(capture()).rejects.toEqual(full)
    expect((await readdir(folder)).sort()).toEqual(['config', 'filler'])
    await disk.free()
    const { manifest } = await capture()
    const other = join(scene.sample.folder, 'other')
    await mkdir(other)
    const there = {
      ...plan,
      place: { ...place, cwd: other },
      scratch: join(other, '..', 'scratch'),
    }
    await disk.fill(500_000)
    await expect(restoreSessionState(driver, there)).rejects.toEqual(full)
    expect(await readdir(join(config, 'projects', slugOf(other)))).toEqual([])
    await disk.free()
    expect(await restoreSessionState(driver, there)).toEqual(manifest)
  })
})
