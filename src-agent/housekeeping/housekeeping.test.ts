import { randomUUID } from 'node:crypto'
import { access, chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { SessionMarker } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { HandClock } from '../port/hand-clock.ts'
import { runProbe } from '../probes/probe.ts'
import { createClaudeCodeDriver } from '../runtimes/claude-code/index.ts'
import { slugOf } from '../runtimes/claude-code/transcript.ts'
import type { RuntimePlace } from '../runtimes/driver.ts'
import { openWorkspace } from '../workspace/clone.ts'
import { makeSample, never, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { findThings } from './find-things.ts'
import { removeBranch } from './remove-branch.ts'
import { removeThings } from './remove-things.ts'

let sample: Sample
let config: string
beforeEach(async () => {
  sample = await makeSample()
  config = join(sample.folder, 'config')
})
afterEach(() => {
  ownEnvs = []
  return sample.remove()
})

const drivers = { 'claude-code': createClaudeCodeDriver() }
const env = () => ({ ...sample.env, CLAUDE_CONFIG_DIR: config })
/** What projects add to the environment. */
let ownEnvs: Record<string, string>[] = []
const find = () => findThings(sample.dataDir, { drivers, envs: [env(), ...ownEnvs], signal: never })
const remove = async (things: Awaited<ReturnType<typeof find>>) => {
  const git = { ...sample.git, env: env() }
  return removeThings(things, {
    ...{ dataDir: sample.dataDir, git, drivers, signal: never },
    envs: [env(), ...ownEnvs],
  })
}
const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

it('finds what proves that Ballet made it, and nothing else', async () => {
  const plan = sample.plan()
  await openWorkspace(sample.git, plan, sample.report, never)
  const session = randomUUID()
  const at = (...names: string[]) => join(sample.dataDir, ...names)
  const own = [
    plan.workspaceDir,
    at('kept', session, `state-${'0'.repeat(16)}.sealed`),
    at('scratch', '0123456789abcdef'),
    at('scratch', 'export-0123456789ab'),
    at('scratch', 'opencode-aB3xYz'),
    at('mirrors', `${session}.git`),
  ]
  await writeFiles(sample.dataDir, {
    [`kept/${session}/state-${'0'.repeat(16)}.sealed`]: 'x',
    [`kept/${session}/notes.txt`]: 'mine',
    'kept/holiday/picture.sealed': 'mine',
    'scratch/0123456789abcdef/x': 'x',
    'scratch/export-0123456789ab/x': 'x',
    'scratch/opencode-aB3xYz/x': 'x',
    'scratch/opencode-of-mine/x': 'mine',
    'scratch/mine/x': 'x',
    [`mirrors/${session}.git/HEAD`]: 'ref',
    'mirrors/mine.git/HEAD': 'ref',
    'workspaces/mine/README.md': 'mine',
  })
  await mkdir(join(sample.folder, 'target'))
  await symlink(join(sample.folder, 'target'), at('scratch', 'fedcba9876543210'))
  const conversation = randomUUID()
  const projects = join(config, 'projects')
  const row = (cwd: string) => `${JSON.stringify({ type: 'user', cwd })}\n`
  await writeFiles(projects, {
    [`${slugOf(plan.workspaceDir)}/${conversation}.jsonl`]: row(plan.workspaceDir),
    // Of a person, in a folder whose name looks the same.
    [`${slugOf(plan.workspaceDir)}/${randomUUID()}.jsonl`]: row(`${sample.dataDir}-workspaces`),
    [`-home-person/${conversation}.jsonl`]: row('/home/person'),
  })
  const found = await find()
  const state = join(projects, slugOf(plan.workspaceDir), `${conversation}.jsonl`)
  expect(
    found
      .map(({ path }) => path)
      .filter((path) => path !== plan.mirrorDir)
      .sort(),
  ).toEqual([...own, state].sort())
  expect(found.find(({ kind }) => kind === 'workspace')?.owner).toBe(plan.session)
  expect(found.find(({ kind }) => kind === 'state')).toMatchObject({
    ...{ owner: conversation, place: plan.workspaceDir },
  })

  // Work that is nowhere else stays, and so does what its workspace borrows from.
  await writeFiles(plan.workspaceDir, { 'new.txt': 'new' })
  const refusals = await remove(found)
  const codes = found.flatMap(({ path }, index) => {
    const code = refusals[index]?.code
    return code === undefined ? [] : [[path, code]]
  })
  expect(codes).toContainEqual([plan.workspaceDir, 'workspace.not-pushed'])
  expect(await isThere(plan.workspaceDir)).toBe(true)
  for (const path of own.slice(1)) expect(await isThere(path), path).toBe(false)
  expect(await isThere(state)).toBe(false)
  expect(await isThere(join(projects, '-home-person', `${conversation}.jsonl`))).toBe(true)
  expect(await isThere(at('kept', session, 'notes.txt'))).toBe(true)
  expect(await isThere(at('scratch', 'mine'))).toBe(true)
})

it('removes nothing that is not where Ballet makes it', async () => {
  const path = join(sample.folder, 'mine')
  await writeFile(path, 'mine')
  const base = { path, bytes: 4, ageMs: 0, owner: '0123456789abcdef', place: null }
  const kinds = ['workspace', 'kept', 'scratch', 'mirror', 'lock'] as const
  const refusals = await remove(kinds.map((kind) => ({ ...base, kind })))
  expect(refusals.map((refusal) => refusal?.code)).toEqual(kinds.map(() => 'leftover.unproven'))
  expect(await isThere(path)).toBe(true)
})

it('a branch goes from the remote when its work is in another one, or when it is forced', async () => {
  const { repo, branch, mirrorDir } = sample.plan()
  const how = { repo, branch, mirrorDir, look: false, force: false }
  const drop = (changes: object = {}) => removeBranch(sample.git, { ...how, ...changes }, never)
  expect(await drop()).toMatchObject({ commit: null })
  const commit = await sample.commit(branch, { 'x.txt': 'x' })
  await expect(drop()).rejects.toMatchObject({
    ...{ code: 'branch.only-copy', hint: expect.stringContaining(branch) },
  })
  await expect(drop({ branch: 'main', force: true })).rejects.toMatchObject({
    code: 'branch.foreign',
  })
  expect(await drop({ look: true, force: true })).toMatchObject({ commit })
  await sample.sh(sample.remote, 'branch', 'merged', branch)
  expect(await drop()).toMatchObject({ commit })
  expect(await sample.sh(sample.remote, 'branch', '--list', branch)).toBe('')
  await sample.commit(branch, { 'y.txt': 'y' })
  await drop({ force: true })
  expect(await sample.sh(sample.remote, 'branch', '--list', branch)).toBe('')
})

it('finds and removes what a runtime keeps where a project says, with all that it keeps of a conversation', async () => {
  const other = join(sample.folder, 'other config')
  const conversation = randomUUID()
  const cwd = sample.plan().workspaceDir
  const mine = join(other, 'file-history', randomUUID(), 'a@v1')
  await writeFiles(other, {
    [`projects/${slugOf(cwd)}/${conversation}.jsonl`]: `${JSON.stringify({ type: 'user', cwd })}\n`,
    [`projects/${slugOf(cwd)}/${conversation}/tool-results/x.txt`]: 'x',
    [`file-history/${conversation}/a@v1`]: 'before',
    [`session-env/${conversation}/env`]: 'x',
  })
  await writeFiles(dirname(mine), { 'a@v1': 'of another conversation' })
  expect(await find()).toEqual([])
  ownEnvs = [{ ...env(), CLAUDE_CONFIG_DIR: other }]
  const found = await find()
  expect(found).toMatchObject([{ kind: 'state', owner: conversation, place: cwd }])
  expect(await remove(found)).toEqual([null])
  for (const name of ['file-history', 'session-env']) {
    expect(await isThere(join(other, name, conversation)), name).toBe(false)
  }
  expect(await readdir(join(other, 'projects', slugOf(cwd)))).toEqual([])
  expect(await isThere(mine)).toBe(true)
})

it('finds each conversation of one file, and looks at all runtimes though one does not answer', async () => {
  const path = join(sample.folder, 'all.db')
  const removed: string[] = []
  const markers: unknown[] = []
  const told: string[] = []
  const ran = sample.plan().workspaceDir
  const kept = (conversation: string) => ({ conversation, path, bytes: 0, ageMs: 0, ran })
  const stateOf = (list: () => Promise<ReturnType<typeof kept>[]>) => ({
    ...{ list, capture: async () => [], restore: async () => [] },
    remove: async (conversation: string, { marker }: RuntimePlace) => {
      markers.push(marker)
      return removed.push(conversation)
    },
  })
  const silent = async () => {
    throw new BalletError({ code: 'runtime.not-found', message: 'It is not here any more.' })
  }
  const all = {
    codex: { ...drivers['claude-code'], runtime: 'codex' as const, state: stateOf(silent) },
    opencode: {
      ...{ ...drivers['claude-code'], runtime: 'opencode' as const },
      state: stateOf(async () => [kept('first'), kept('second')]),
    },
  }
  const things = await findThings(sample.dataDir, {
    ...{ drivers: all, envs: [env()], signal: never },
    log: (level, message, fields) => told.push(`${level} ${message}: ${fields?.why}`),
  })
  expect(things.map(({ kind, owner }) => [kind, owner])).toEqual([
    ['state', 'first'],
    ['state', 'second'],
  ])
  expect(told).toEqual(['warn what codex keeps could not be looked at: It is not here any more.'])
  const parts = { dataDir: sample.dataDir, git: sample.git, drivers: all, signal: never }
  const gone = { ...things[0], owner: 'third' } as (typeof things)[number]
  const refusals = await removeThings([...things, gone], { ...parts, envs: [env()] })
  expect(refusals.map((refusal) => refusal?.code)).toEqual([
    undefined,
    undefined,
    'runtime.not-found',
  ])
  expect(removed).toEqual(['first', 'second'])

  // For a ticket that is deleted, what is started is found by its mark.
  const marker = SessionMarker.parse({ session: randomUUID(), nonce: '1'.repeat(16) })
  const ofTicket = { kind: 'state.remove', runtime: 'opencode', runtimePath: null } as const
  const { finding } = await runProbe(
    { ...ofTicket, conversations: ['fourth'], env: {}, marker },
    30_000,
    {
      ...{ dataDir: sample.dataDir, env: env(), drivers: all, signal: never },
      ...{ clock: new HandClock(), running: new Set() },
    },
  )
  expect(finding).toMatchObject({ kind: 'state.remove' })
  expect([removed.at(-1), markers.at(-1)]).toEqual(['fourth', marker])
})

it('asks no other runtime once its limit is over', async () => {
  const limit = new AbortController()
  const asked: string[] = []
  const driverOf = (runtime: 'codex' | 'opencode') => ({
    ...drivers['claude-code'],
    runtime,
    state: {
      ...{ capture: async () => [], restore: async () => [], remove: async () => 0 },
      list: async () => {
        asked.push(runtime)
        limit.abort()
        return []
      },
    },
  })
  const all = { codex: driverOf('codex'), opencode: driverOf('opencode') }
  const finding = findThings(sample.dataDir, {
    ...{ drivers: all, envs: [env()], signal: limit.signal },
  })
  await expect(finding).rejects.toThrow('aborted')
  expect(asked).toEqual(['codex'])
})

it('git that removes a branch carries the mark of its session', async () => {
  const { repo, branch, mirrorDir, session } = sample.plan()
  await sample.commit(branch, { 'x.txt': 'x' })
  const hook = join(sample.remote, 'hooks', 'pre-receive')
  await writeFile(hook, `#!/bin/sh\nprintf %s "$BALLET_SESSION" > '${sample.folder}/mark'\n`)
  await chmod(hook, 0o755)
  const marker = SessionMarker.parse({ session, nonce: '0'.repeat(16) })
  const probe = { kind: 'branch.remove', repo, branch, mirrorDir, marker } as const
  const { finding, refusal } = await runProbe(
    { ...probe, env: {}, look: false, force: true },
    30_000,
    {
      ...{ dataDir: sample.dataDir, env: env(), drivers, signal: never },
      ...{ clock: new HandClock(), running: new Set() },
    },
  )
  expect(refusal).toBeNull()
  expect(finding).toMatchObject({ kind: 'branch.remove', commit: expect.any(String) })
  expect(await readFile(join(sample.folder, 'mark'), 'utf8')).toBe(
    `${session}:${'0'.repeat(16)}:git`,
  )
})
