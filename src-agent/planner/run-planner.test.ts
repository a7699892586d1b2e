import { randomUUID } from 'node:crypto'
import { access, mkdir, readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import { systemClock } from '../port/clock.ts'
import { runProbe } from '../probes/probe.ts'
import { processesWith, spawnMarked } from '../process-tree/index.ts'
import { newMarker } from '../process-tree/testing/new-marker.ts'
import type { ReadOnlyRun } from '../runtimes/driver.ts'
import { until } from '../session-loop/loop-harness.ts'
import { RecordingDriver } from '../session-loop/recording-driver.ts'
import { openWorkspace } from '../workspace/clone.ts'
import { makeSample, never, type Sample, writeFiles } from '../workspace/sample-repository.ts'

let sample: Sample
let driver: RecordingDriver
let leave: AbortController
const running = new Set<Promise<unknown>>()
let mark: ReturnType<typeof newMarker>
let folder: string

beforeEach(async () => {
  sample = await makeSample()
  driver = new RecordingDriver()
  leave = new AbortController()
  mark = newMarker()
  folder = join(sample.dataDir, 'scratch', mark.nonce)
  await sample.commit('main', {
    'docs/db.md': 'Orders go to\n  PostgreSQL.\n',
    'docs/deep/er.md': 'Deep.\n',
    'docs/picture.md': 'PNG\0\0',
    'docs/link.md': '-> /etc/passwd',
    'notes.txt': 'No source.\n',
  })
})
afterEach(() => sample.remove())

/** Runs a planner over the mirror, as when the workspace is gone. */
async function plan(changes: object = {}, limitMs = 15_000) {
  const { mirrorDir } = sample.plan()
  await openWorkspace(sample.git, sample.plan(), sample.report, never)
  const commit = await sample.sh(mirrorDir, 'rev-parse', 'main')
  const probe = Probe.parse({
    kind: 'planner',
    question: randomUUID(),
    marker: mark,
    runtime: 'claude-code',
    runtimePath: null,
    model: 'small',
    runtimeArgs: ['--add-dir', '/'],
    env: { FROM_PROJECT: '1', BALLET_X: '2' },
    workspaceDir: null,
    mirrorDir,
    commit,
    sources: ['README*', 'docs/**/*.md'],
    folder,
    prompt: 'Which database?',
    costLimitUsd: 0.5,
    ...changes,
  })
  const found = await runProbe(probe, limitMs, {
    dataDir: sample.dataDir,
    env: sample.env,
    drivers: { 'claude-code': driver },
    clock: systemClock,
    signal: leave.signal,
    running,
  })
  if (found.finding !== null) ProbeFinding.parse(found.finding)
  return found
}

const filesIn = async (cwd: string) => {
  const entries = await readdir(cwd, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(cwd.length + 1))
    .sort()
}

const says = (answer: unknown) => async () => ({
  text: typeof answer === 'string' ? answer : JSON.stringify(answer),
  costUsd: 0.01,
})

/** An answer that cites these sources. */
const citing = (...sources: string[]) =>
  says({
    answer: 'PostgreSQL',
    citations: sources.map((source) => ({ source, place: 'line 1', quote: 'Orders' })),
  })

const gone = (path: string) =>
  access(path).then(
    () => false,
    () => true,
  )

describe('a planner', () => {
  it('reads what the sources name at the commit, and its texts come with the answer', async () => {
    let run: ReadOnlyRun | undefined
    let seen: string[] = []
    driver.reads = async (given) => {
      run = given
      seen = await filesIn(given.cwd)
      return citing('docs/db.md')()
    }
    const { finding } = await plan()
    expect(seen).toEqual(['README.md', 'docs/db.md', 'docs/deep/er.md'])
    expect(run).toMatchObject({ model: 'small', prompt: 'Which database?', costLimitUsd: 0.5 })
    expect(run?.env).toMatchObject({ FROM_PROJECT: '1', HOME: sample.env.HOME })
    expect(run?.env).not.toHaveProperty('BALLET_X')
    expect(JSON.stringify(run)).not.toContain('--add-dir')
    expect(finding).toMatchObject({
      kind: 'planner',
      result: {
        answer: 'PostgreSQL',
        citations: [{ source: 'docs/db.md', place: 'line 1', quote: 'Orders' }],
      },
      texts: { 'docs/db.md': 'Orders go to\n  PostgreSQL.\n' },
      costUsd: 0.01,
    })
    expect(await gone(folder)).toBe(true)
  })

  it('reads the workspace at what is committed there, not what else lies in it', async () => {
    const { workspaceDir } = sample.plan()
    await openWorkspace(sample.git, sample.plan(), sample.report, never)
    await writeFiles(workspaceDir, { 'docs/new.md': 'New.\n', 'docs/db.md': 'Changed.\n' })
    await sample.sh(workspaceDir, 'add', 'docs/new.md')
    await sample.sh(workspaceDir, 'commit', '--quiet', '--message=New')
    driver.reads = citing('docs/new.md', 'docs/db.md')
    const { finding } = await plan({ workspaceDir })
    expect(finding).toMatchObject({
      texts: { 'docs/new.md': 'New.\n', 'docs/db.md': expect.stringContaining('PostgreSQL') },
    })
  })

  it.each([
    ['leads out', '../../etc/passwd'],
    ['leads out from below', 'docs/../../../../../../etc/passwd'],
    ['is absolute', '/etc/passwd'],
    ['is a link out of the tree', 'docs/link.md'],
    ['is no source of the project', 'notes.txt'],
    ['does not exist', 'docs/none.md'],
    ['is a folder', 'docs'],
    ['is nothing', '.'],
    ['holds a zero byte', 'docs/db.md\0'],
  ])('gets no text of a source that %s', async (_what, source) => {
    driver.reads = citing(source)
    const { finding } = await plan()
    expect(finding).toMatchObject({ texts: { [source.trim()]: null } })
  })

  it('knows a source by its path in the folder, and with a line behind it', async () => {
    driver.reads = async ({ cwd }) =>
      citing('./docs/db.md', join(cwd, 'docs/deep/er.md'), 'README.md:1', 'docs//db.md:1-2')()
    const { finding } = await plan()
    expect(Object.keys((finding as { texts: object }).texts)).toEqual([
      'docs/db.md',
      'docs/deep/er.md',
      'README.md',
    ])
    expect(finding).toMatchObject({
      result: { citations: [{}, {}, { source: 'README.md' }, { source: 'docs/db.md' }] },
    })
  })

  it('follows no link that appears among its sources while it runs', async () => {
    driver.reads = async ({ cwd }) => {
      await symlink('/etc/passwd', join(cwd, 'docs/trap.md'))
      await symlink('/etc', join(cwd, 'trap'))
      return citing('docs/trap.md', 'trap/passwd')()
    }
    expect((await plan()).finding).toMatchObject({
      texts: { 'docs/trap.md': null, 'trap/passwd': null },
    })
  })

  it('reads files, folders and globs outside the repository, under their own names', async () => {
    const wiki = join(sample.folder, 'my wiki')
    await writeFiles(wiki, {
      'db.md': 'Outside.\n',
      'deep/x.txt': 'x\n',
      'out.md': '-> /etc/passwd',
      away: '-> /etc',
    })
    await writeFile(join(sample.folder, 'single.md'), 'Single.\n')
    await writeFile(join(sample.folder, 'other.md'), 'Not named.\n')
    let run: ReadOnlyRun | undefined
    let seen: string[] = []
    driver.reads = async (given) => {
      run = given
      seen = await filesIn(given.cwd)
      return citing(
        'outside-my-wiki/db.md',
        join(wiki, 'deep/x.txt'),
        join(sample.folder, 'single.md'),
        join(sample.folder, 'other.md'),
        join(wiki, 'out.md'),
      )()
    }
    const single = join(sample.folder, 'single.md')
    const sources = [wiki, single, join(sample.folder, 'oth*.txt'), '/nowhere/at/all', 'docs/db.md']
    const { finding } = await plan({ sources })
    expect(seen.filter((path) => !path.endsWith('single.md'))).toEqual([
      'docs/db.md',
      'outside-my-wiki/db.md',
      'outside-my-wiki/deep/x.txt',
    ])
    expect(seen).toHaveLength(4)
    expect(run?.instructions).toContain(`outside-my-wiki/ was copied from ${wiki}`)
    expect(run?.instructions).toContain('/nowhere/at/all is not there.')
    expect(finding).toMatchObject({
      texts: {
        [join(wiki, 'db.md')]: 'Outside.\n',
        [join(wiki, 'deep/x.txt')]: 'x\n',
        [single]: 'Single.\n',
        [join(sample.folder, 'other.md')]: null,
        [join(wiki, 'out.md')]: null,
      },
    })
  })

  it('says what was too large to read', async () => {
    const large = join(sample.folder, 'large')
    await mkdir(large)
    await writeFile(join(large, 'big.md'), '')
    await truncate(join(large, 'big.md'), 2 * 1024 * 1024)
    driver.reads = says({ undecided: 'Nothing says so.' })
    const { finding } = await plan({ sources: ['docs/db.md', large] })
    expect(finding).toMatchObject({
      result: {
        undecided: 'Nothing says so. Left out, since larger than 1 MiB: outside-large/big.md.',
      },
    })
  })

  it('is undecided without a run when there is nothing to read', async () => {
    expect((await plan({ sources: ['none/**'] })).finding).toMatchObject({
      result: { undecided: expect.stringContaining('None of the sources') },
      costUsd: 0,
    })
    mark = newMarker()
    folder = join(sample.dataDir, 'scratch', mark.nonce)
    const nowhere = { mirrorDir: join(sample.dataDir, 'mirrors/none.git'), workspaceDir: '/none' }
    expect((await plan(nowhere)).finding).toMatchObject({
      result: { undecided: expect.stringContaining('The repository could not be read.') },
    })
    expect(driver.asked).not.toContain('read')
  })
})

describe('a planner that goes wrong', () => {
  const leftovers = async () => ({
    folder: !(await gone(folder)),
    processes: (await processesWith([mark])).length,
  })
  const NOTHING = { folder: false, processes: 0 }

  it('says so when it answers garbage', async () => {
    driver.reads = says('I think PostgreSQL, but who knows?')
    expect(await plan()).toMatchObject({
      finding: null,
      refusal: {
        code: 'planner.unreadable',
        message: expect.stringContaining('I think PostgreSQL'),
      },
    })
    expect(await leftovers()).toEqual(NOTHING)
  })

  it('gives the reason of a runtime that fails, does not start, or is not there', async () => {
    driver.reads = async () => {
      throw new Error('The model is on holiday.')
    }
    expect((await plan()).refusal?.message).toContain('The model is on holiday.')
    driver.report = { problem: { code: 'runtime.not-found', message: 'There is none.' } }
    mark = newMarker()
    folder = join(sample.dataDir, 'scratch', mark.nonce)
    expect((await plan()).refusal).toMatchObject({ code: 'runtime.not-found' })
    expect(await leftovers()).toEqual(NOTHING)
  })

  it('is ended at its limit, with everything that it started', async () => {
    driver.reads = async ({ cwd, marker, signal }) => {
      await spawnMarked('sleep', ['300'], { cwd, env: { PATH: sample.env.PATH ?? '' }, marker })
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('ended')))
      })
    }
    expect(await plan({}, 1_500)).toEqual({
      finding: null,
      refusal: {
        code: 'planner.time-limit',
        message: 'The planner had no answer within 2 s.',
        hint: expect.any(String),
      },
    })
    await until('the work to settle', () => running.size === 0)
    expect(await leftovers()).toEqual(NOTHING)
  })

  it('is ended when the agent leaves', async () => {
    driver.reads = async ({ cwd, marker, signal }) => {
      await spawnMarked('sleep', ['300'], { cwd, env: { PATH: sample.env.PATH ?? '' }, marker })
      leave.abort()
      expect(signal.aborted).toBe(true)
      throw new Error('ended')
    }
    expect((await plan()).finding).toBeNull()
    await until('the work to settle', () => running.size === 0)
    expect(await leftovers()).toEqual(NOTHING)
  })

  it('leaves nothing for the next start when its agent was killed: the marker is enough', async () => {
    const { cwd, env } = { cwd: sample.folder, env: { PATH: sample.env.PATH ?? '' } }
    await writeFiles(folder, { 'sources/docs/db.md': 'x' })
    await spawnMarked('sleep', ['300'], { cwd, env, marker: mark })
    await runProbe({ kind: 'reap', markers: [mark] }, 15_000, {
      dataDir: sample.dataDir,
      env: sample.env,
      drivers: {},
      clock: systemClock,
      signal: never,
      running,
    })
    expect(await leftovers()).toEqual(NOTHING)
  })

  it('works only in a new folder below the data folder, and removes no other', async () => {
    await writeFile(join(sample.folder, 'mine.txt'), 'mine')
    for (const wrong of [
      sample.dataDir,
      join(sample.dataDir, 'x'),
      sample.folder,
      join(sample.dataDir, 'scratch/../../x/y'),
    ]) {
      expect((await plan({ folder: wrong })).refusal).toMatchObject({ code: 'planner.folder' })
    }
    await writeFiles(folder, { 'other.txt': 'of somebody else' })
    expect((await plan()).finding).toBeNull()
    expect(await readFile(join(folder, 'other.txt'), 'utf8')).toBe('of somebody else')
    expect(await readFile(join(sample.folder, 'mine.txt'), 'utf8')).toBe('mine')
  })

  it('does not run when it may cost nothing', async () => {
    expect((await plan({ costLimitUsd: 0 })).refusal).toMatchObject({ code: 'planner.cost-limit' })
    expect(driver.asked).not.toContain('read')
  })
})
