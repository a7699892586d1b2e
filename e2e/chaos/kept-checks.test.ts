import { createHash } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { GitRemote } from '../support/git-remote.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { keptFaults } from './kept-checks.ts'

const SEALED = 'sealed'
const STATE = {
  ...{ kind: 'state', name: 'state-1', bytes: SEALED.length, contentSha256: '0'.repeat(64) },
  sha256: createHash('sha256').update(SEALED).digest('hex'),
}
const WORK = {
  ...{ commit: 'c1', pushed: true, notPushed: null, files: [STATE], state: null, aside: [] },
  snapshot: null,
}

let folder: Awaited<ReturnType<typeof makeTempFolder>>
beforeEach(async () => {
  folder = await makeTempFolder('kept-')
  await mkdir(join(folder.path, 'kept', 's'), { recursive: true })
  await writeFile(join(folder.path, 'kept', 's', STATE.name), SEALED)
})
afterEach(() => folder.remove())

/** What is found of one parked session whose branch has this commit. */
function faults(
  work: object,
  { workspace = null as string | null, commit = 'c1', recorded = true, input = 'delivered' } = {},
): Promise<string[]> {
  const db = new Database(join(folder.path, 'ballet.sqlite'))
  db.exec(`CREATE TABLE ticket (id TEXT, key TEXT);
    CREATE TABLE input (session_id TEXT, state TEXT);
    CREATE TABLE session (id TEXT, ticket_id TEXT, state TEXT, branch TEXT, turn INTEGER, recorded INTEGER, workspace TEXT, parked TEXT)`)
  db.prepare(`INSERT INTO ticket VALUES ('t', 'T-1')`).run()
  db.prepare(`INSERT INTO input VALUES ('s', ?)`).run(input)
  db.prepare(`INSERT INTO session VALUES ('s', 't', 'parked', 'ballet/T-1', 1, ?, ?, ?)`).run(
    recorded ? 1 : 0,
    workspace,
    JSON.stringify({ restored: false, work }),
  )
  db.close()
  const log = async (branch: string) => (branch === 'main' ? [] : [{ hash: commit }])
  const remote = { branches: async () => ['main', 'ballet/T-1'], log } as unknown as GitRemote
  return keptFaults(folder.path, remote, 0)
}

it('finds nothing where all that a row names is kept', async () => {
  expect(await faults(WORK)).toEqual([])
})

it('finds a kept file that is gone, changed, or of nobody', async () => {
  await writeFile(join(folder.path, 'kept', 's', STATE.name), 'spoiled')
  await writeFile(join(folder.path, 'kept', 's', 'half'), '')
  await mkdir(join(folder.path, 'kept', 'nobody'))
  expect(await faults(WORK)).toEqual([
    'the state of T-1 is not what was kept',
    'kept of T-1 (parked) by no row: half',
    'kept of no session: nobody',
  ])
})

it('finds a lost file', async () => {
  await rm(join(folder.path, 'kept', 's', STATE.name))
  expect(await faults(WORK)).toEqual(['T-1 (parked) lost its state'])
})

it('finds parked work that is nowhere, and a workspace that stayed', async () => {
  expect(await faults({ ...WORK, pushed: false }, { workspace: '/w' })).toEqual([
    'T-1 is parked, and its workspace is /w',
    'T-1 is not pushed and has no bundle',
  ])
})

it('finds a branch without the work that was pushed to it', async () => {
  expect(await faults(WORK, { commit: 'c0' })).toEqual(['T-1: c1 is not on ballet/T-1'])
})

it.each([
  ['recorded', { recorded: true }, ['T-1 is parked after 1 turns without state']],
  ['never recorded', { recorded: false, input: 'queued' }, []],
  [
    'never recorded, with a message that is forgotten',
    { recorded: false, input: 'unknown' },
    ['T-1 is parked after 1 turns without state'],
  ],
])('looks for a conversation that was %s', async (_what, given, found) => {
  await rm(join(folder.path, 'kept', 's', STATE.name))
  expect(await faults({ ...WORK, files: [] }, given)).toEqual(found)
})
