import { access, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from '@playwright/test'
import Sqlite from 'better-sqlite3'
import { filesBelow, runtimeFilesOf } from '../../support/ballet-things.ts'
import {
  expectSameWork,
  isThere,
  parkNow,
  SHOP_FILES,
  startWithWork,
} from '../../support/parked-work.ts'
import { bash, say, script } from '../../support/steps.ts'
import { waitFor } from '../../support/wait-for.ts'
import { addProject, startTicket, waitForTurnEnd } from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

/** The rows of a project are gone, as after a backup of the database was put back; what is on the disk is there. */
function forgetProject(bench: Workbench, id: string): void {
  const db = new Sqlite(join(bench.dataDir, 'ballet.sqlite'))
  db.pragma('foreign_keys = ON')
  const tickets = `SELECT id FROM ticket WHERE project_id = @id`
  db.prepare(`DELETE FROM session WHERE ticket_id IN (${tickets})`).run({ id })
  db.prepare(`DELETE FROM ticket WHERE project_id = @id`).run({ id })
  db.prepare(`DELETE FROM project WHERE id = @id`).run({ id })
  db.close()
}

/** Of people and other programs, beside what is Ballet's, some of it with names that look the same. */
async function makeForeign(bench: Workbench, sessionOfNobody: string): Promise<string[]> {
  const { dataDir, claudeDir } = bench
  const conversation = '7d444840-9dc0-11d1-b245-5ffdce74fad2.jsonl'
  const row = (cwd: string) => `${JSON.stringify({ type: 'user', cwd })}\n`
  const slug = join(dataDir, 'workspaces').replaceAll(/[^A-Za-z0-9]/gu, '-')
  const files = {
    [join(dataDir, 'workspaces', 'mine', 'README.md')]: 'mine',
    [join(dataDir, 'kept', 'holiday', 'state-0123456789abcdef.sealed')]: 'mine',
    [join(dataDir, 'kept', sessionOfNobody, 'notes.txt')]: 'mine',
    [join(dataDir, 'mirrors', 'mine.git', 'HEAD')]: 'mine',
    [join(dataDir, 'scratch', 'mine', 'x')]: 'mine',
    [join(claudeDir, 'projects', '-home-person', conversation)]: row('/home/person'),
    // In a folder that is named as one of Ballet's would be.
    [join(claudeDir, 'projects', `${slug}-mine`, conversation)]: row(`${dataDir}/workspaces-mine`),
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
  return Object.keys(files)
}

test('what nothing needs any more is listed, removed when that is asked for, and nothing else', async ({
  bench,
}) => {
  const first = await bench.host({ agents: 2 })
  const shop = await bench.remote({ files: SHOP_FILES })
  const store = await bench.remote({ name: 'store.git', files: SHOP_FILES })
  await addProject(first.client, shop.path, { planner: false, window: 'never' })
  const lost = await addProject(first.client, store.path, {
    ...{ name: 'Store', planner: false, window: 'never' },
  })
  const known = await startWithWork(first.client)
  await parkNow(first.client, known.session.id)
  const body = script(bash('echo only here > new.txt && echo KEY=x > .env'), say('Done.'))
  const parking = await startTicket(first.client, { project: 'Store', body })
  const waiting = await startTicket(first.client, { project: 'Store', body })
  for (const { session } of [parking, waiting]) {
    await waitForTurnEnd(first.client, session.id, 1, 60_000)
  }
  await parkNow(first.client, parking.session.id)
  const parked = await first.client.sessions.show({ ref: parking.session.id })
  const online = await first.client.sessions.show({ ref: waiting.session.id })
  const workspace = online.workspace ?? 'no workspace'
  // Nothing of all that is one while its rows are there.
  expect((await first.cli('gc', '--remove')).rows).toEqual([])

  await first.kill()
  await waitFor('everything of the host to end', async () => (await bench.processes()).length === 0)
  forgetProject(bench, lost.id)
  const foreign = await makeForeign(bench, parked.id)
  const { client, cli } = await bench.host()
  const kept = join(bench.dataDir, 'kept', parked.id)
  const sealed = (await readdir(kept)).filter((name) => name.endsWith('.sealed'))
  const states = [
    ...(await runtimeFilesOf(bench, parked.conversation)),
    ...(await runtimeFilesOf(bench, online.conversation)),
  ].filter((file) => file.endsWith('.jsonl'))
  const mirror = join(bench.dataDir, 'mirrors', `${lost.id}.git`)
  // Of the lease that the killed host left.
  const scratch = (await readdir(join(bench.dataDir, 'scratch'))).filter((name) => name !== 'mine')
  const leftovers = [
    workspace,
    mirror,
    ...scratch.map((name) => join(bench.dataDir, 'scratch', name)),
    ...sealed.map((name) => join(kept, name)),
    ...states.map((file) => join(bench.claudeDir, 'projects', file)),
  ].sort()
  expect(sealed).toHaveLength(2)
  expect(states).not.toEqual([])

  const listed = await cli('gc')
  expect(listed.rows.map(({ path }) => path).sort(), listed.stderr).toEqual(leftovers)
  for (const row of listed.rows) {
    expect(row).toMatchObject({
      removed: false,
      refusal: null,
      why: expect.stringMatching(/gone|ended/u),
    })
  }
  for (const path of [...leftovers, ...foreign]) await access(path)
  const asText = await bench.ballet('gc', '--data', bench.dataDir)
  expect(asText.stdout).toMatch(/\d+ leftovers, .*`ballet gc --remove` removes them\./u)

  // The work in it is nowhere else: it stays, with what it borrows its commits from.
  const removed = await cli('gc', '--remove')
  expect(removed).toMatchObject({ code: 1, error: { code: 'workspace.not-pushed' } })
  const stays = removed.rows.flatMap(({ path, removed }) => (removed === true ? [] : [path]))
  expect(stays.sort()).toEqual([mirror, workspace].sort())
  expect(await readFile(join(workspace, 'new.txt'), 'utf8')).toBe('only here\n')
  for (const path of leftovers) expect(await isThere(path), path).toBe(stays.includes(path))

  for (const name of ['new.txt', '.env']) await rm(join(workspace, name))
  const rest = await cli('gc', '--remove')
  expect(rest.code, rest.stderr + rest.stdout).toBe(0)
  expect(rest.rows.map(({ path }) => path).sort()).toEqual([mirror, workspace].sort())
  for (const path of leftovers) expect(await isThere(path), path).toBe(false)
  expect((await cli('gc')).rows).toEqual([])
  for (const path of foreign) await access(path)
  expect(await filesBelow(kept)).toEqual(['notes.txt'])
  await expectSameWork(bench, client, known)
})
