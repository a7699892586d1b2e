import { randomUUID } from 'node:crypto'
import { access, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Probe } from '../../src-shared/agent-wire.ts'
import { housekeepingMarker } from '../housekeeping/find-things.ts'
import { systemClock } from '../port/clock.ts'
import { processesWith, spawnMarked } from '../process-tree/index.ts'
import { newMarker } from '../process-tree/testing/new-marker.ts'
import type { Driver } from '../runtimes/driver.ts'
import { scratchDirOf } from '../session-loop/context.ts'
import { RecordingDriver } from '../session-loop/recording-driver.ts'
import { openWorkspace } from '../workspace/clone.ts'
import { makeSample, never, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { runProbe } from './probe.ts'

let sample: Sample
afterEach(() => sample.remove())

const probe = (given: object, limitMs = 15_000) =>
  runProbe(Probe.parse(given), limitMs, {
    dataDir: sample.dataDir,
    env: sample.env,
    drivers: { 'claude-code': new RecordingDriver() },
    clock: systemClock,
    signal: never,
    running: new Set(),
  })

describe('the probe of a remote', () => {
  it('finds the default branch, or the tip of the one that was asked for', async () => {
    sample = await makeSample({ name: `a 'b' "c" 🩰.git` })
    const dev = await sample.commit('feature/ü', { 'x.txt': 'x' })
    const main = await sample.sh(sample.remote, 'rev-parse', 'main')
    expect(await probe({ kind: 'remote', repo: sample.remote })).toEqual({
      finding: { kind: 'remote', branch: 'main', commit: main },
      refusal: null,
    })
    await sample.sh(sample.remote, 'symbolic-ref', 'HEAD', 'refs/heads/feature/ü')
    expect(await probe({ kind: 'remote', repo: `file://${sample.remote}` })).toMatchObject({
      finding: { branch: 'feature/ü', commit: dev },
    })
    await sample.sh(sample.remote, 'update-ref', '--no-deref', 'HEAD', main)
    await sample.sh(sample.remote, 'symbolic-ref', 'HEAD', 'refs/heads/gone')
    expect(await probe({ kind: 'remote', repo: sample.remote })).toMatchObject({
      finding: { branch: 'main' },
    })
    expect(await probe({ kind: 'remote', repo: sample.remote, branch: 'feature/ü' })).toMatchObject(
      { finding: { commit: dev } },
    )
  })

  it.each([
    ['../relative', 'remote.not-a-repository'],
    ['~/home', 'remote.not-a-repository'],
    ['--upload-pack=touch x', 'remote.not-a-repository'],
    ['/nowhere', 'remote.not-a-repository'],
    ['http://127.0.0.1:9/x', 'remote.unreachable'],
  ])('refuses %s', async (repo, code) => {
    sample = await makeSample()
    const found = await probe({ kind: 'remote', repo })
    expect(found).toMatchObject({ finding: null, refusal: { code, hint: expect.any(String) } })
  })

  it('names branches that are near an unknown one, and an empty remote', async () => {
    sample = await makeSample({ empty: true })
    expect(await probe({ kind: 'remote', repo: sample.remote })).toMatchObject({
      refusal: { code: 'remote.empty' },
    })
    await sample.commit('main', {})
    await sample.commit('release-2', {})
    await sample.commit('release-3', {})
    const found = await probe({ kind: 'remote', repo: sample.remote, branch: 'relese-2' })
    expect(found.refusal).toMatchObject({ code: 'branch.unknown' })
    expect(found.refusal?.hint).toMatch(/release-2, release-3/)
  })

  it('ends at its limit', async () => {
    sample = await makeSample()
    const ssh = join(sample.folder, 'ssh.sh')
    await writeFile(ssh, '#!/bin/sh\nsleep 300\n', { mode: 0o755 })
    sample.env.GIT_SSH_COMMAND = ssh
    expect(await probe({ kind: 'remote', repo: 'git@host:x.git' }, 300)).toMatchObject({
      refusal: { code: expect.stringMatching(/remote.unreachable|git.time-limit/) },
    })
  })
})

it('the probe of runtimes finds git and asks the drivers', async () => {
  sample = await makeSample()
  expect(await probe({ kind: 'runtimes', paths: {}, acpAgents: {} })).toMatchObject({
    finding: {
      git: {
        path: expect.stringMatching(/git$/),
        version: expect.stringMatching(/^\d+\.\d+/),
      },
      runtimes: expect.arrayContaining([
        expect.objectContaining({ runtime: 'claude-code', version: '1.0.0', problem: null }),
      ]),
    },
  })
  const of = { runtime: 'claude-code' as const, env: { PATH: join(sample.folder, 'nothing') } }
  expect(await probe({ kind: 'runtimes', paths: {}, acpAgents: {}, of })).toMatchObject({
    finding: { git: { path: null }, runtimes: [{ runtime: 'claude-code' }] },
  })
  sample.env.PATH = join(sample.folder, 'nothing')
  expect(await probe({ kind: 'runtimes', paths: {}, acpAgents: {} })).toMatchObject({
    finding: { git: { path: null, version: null } },
  })
})

it('the probe of runtimes tells for each project how it stands with what it runs, and looks once for each environment', async () => {
  sample = await makeSample()
  const looked: string[] = []
  const find: Driver['find'] = async ({ env }) => {
    looked.push(env.KEY ?? '')
    return {
      ...{ runtime: 'claude-code', path: '/x', version: '1.0.0', login: null, notice: null },
      ...{ versions: { minimum: null, tested: [] }, loggedIn: env.KEY !== undefined },
      problem: env.KEY === undefined ? { code: 'runtime.not-logged-in', message: 'No.' } : null,
    }
  }
  const project = (name: string, env: Record<string, string>, runtimes = ['claude-code']) => ({
    ...{ id: randomUUID(), name, env, runtimes },
  })
  const projects = [
    project('Plain', {}),
    project('Key', { KEY: 'k' }),
    project('Same key', { KEY: 'k' }),
    project('Other', {}, ['codex']),
  ]
  const asked = Probe.parse({ kind: 'runtimes', paths: {}, acpAgents: {}, projects })
  const { finding } = await runProbe(asked, 15_000, {
    ...{
      dataDir: sample.dataDir,
      env: sample.env,
      drivers: { 'claude-code': Object.assign(new RecordingDriver(), { find }) },
    },
    ...{ clock: systemClock, signal: never, running: new Set() },
  })
  const runtimes = finding?.kind === 'runtimes' ? finding.runtimes : []
  expect(runtimes.find(({ runtime }) => runtime === 'claude-code')).toMatchObject({
    loggedIn: false,
    projects: [
      { name: 'Plain', loggedIn: false, problem: { code: 'runtime.not-logged-in' } },
      { name: 'Key', loggedIn: true, problem: null },
      { name: 'Same key', loggedIn: true, problem: null },
    ],
  })
  expect(looked.sort()).toEqual(['', 'k'])
})

it('the probe that reaps ends what carries a marker and removes its scratch folder, and nothing else', async () => {
  sample = await makeSample()
  const [mine, other] = [newMarker(), newMarker()]
  const env = { PATH: process.env.PATH ?? '' }
  for (const marker of [mine, other]) {
    await spawnMarked('sleep', ['300'], { cwd: sample.folder, env, marker })
    await writeFiles(scratchDirOf(sample.dataDir, marker.nonce), { 'prompt.md': 'x' })
  }
  const found = await probe({ kind: 'reap', markers: [mine] })
  expect(found.finding).toMatchObject({ kind: 'reap', ended: [{ pid: expect.any(Number) }] })
  expect(await processesWith([mine])).toEqual([])
  expect(await processesWith([other])).toHaveLength(1)
  expect(await readdir(join(sample.dataDir, 'scratch'))).toEqual([other.nonce])
  await probe({ kind: 'reap', markers: [other] })
})

it('looking after the data folder begins by ending what the last try left running', async () => {
  sample = await makeSample()
  const env = { PATH: process.env.PATH ?? '' }
  const [own, other] = [sample.dataDir, join(sample.folder, 'other')].map(housekeepingMarker)
  if (own === undefined || other === undefined) throw new Error('There is no marker.')
  for (const kind of ['things.find', 'things.remove'] as const) {
    for (const marker of [own, other]) {
      await spawnMarked('sleep', ['300'], { cwd: sample.folder, env, marker })
    }
    await probe({ kind, envs: [], ...(kind === 'things.remove' ? { things: [] } : {}) })
    expect(await processesWith([own]), kind).toEqual([])
    expect(await processesWith([other]), kind).toHaveLength(1)
    await probe({ kind: 'reap', markers: [other] })
  }
})

it('the probe that removes a workspace does so only when everything is pushed, or told to', async () => {
  sample = await makeSample()
  const plan = sample.plan()
  await openWorkspace(sample.git, plan, sample.report, never)
  await writeFiles(plan.workspaceDir, { 'x.txt': 'x' })
  const { workspaceDir, repo, branch } = plan
  const given = {
    kind: 'workspace.remove',
    ...{ workspaceDir, repo, branch, pushedCommit: null, env: {} },
    marker: { session: plan.session, nonce: '0'.repeat(16) },
  }
  expect(await probe({ ...given, force: false })).toMatchObject({
    refusal: { code: 'workspace.not-pushed', message: expect.stringContaining('uncommitted') },
  })
  await access(join(workspaceDir, 'x.txt'))
  expect(await probe({ ...given, workspaceDir: sample.remote, force: true })).toMatchObject({
    refusal: { code: 'workspace.outside' },
  })
  expect(await probe({ ...given, force: true })).toMatchObject({ finding: { removed: true } })
  expect(await probe({ ...given, force: false })).toMatchObject({ finding: { removed: false } })
})

it('the probe that pushes commits and pushes what is in a workspace, as often as it is asked', async () => {
  sample = await makeSample()
  const { dataDir: _, ...plan } = sample.plan()
  const marker = { session: plan.session, nonce: '0'.repeat(16) }
  const given = { kind: 'workspace.push', ...plan, env: {}, message: 'The work', marker }
  expect(await probe(given)).toMatchObject({ finding: { commit: null, notices: [] } })
  await openWorkspace(sample.git, sample.plan(), sample.report, never)
  expect(await probe(given)).toMatchObject({
    finding: { commit: null, notices: [{ code: 'finish.nothing' }] },
  })
  await writeFiles(plan.workspaceDir, { 'x.txt': 'x' })
  const found = await probe(given)
  const tip = await sample.git.text(['rev-parse', plan.branch], { cwd: sample.remote })
  expect(found).toMatchObject({ finding: { commit: tip, notices: [] } })
  expect(await probe(given)).toMatchObject({ finding: { commit: tip } })
  await access(join(plan.workspaceDir, 'x.txt'))
  await rename(sample.remote, `${sample.remote}.away`)
  await writeFiles(plan.workspaceDir, { 'y.txt': 'y' })
  expect(await probe(given)).toMatchObject({
    refusal: { code: 'remote.not-a-repository', hint: expect.any(String) },
  })
})
