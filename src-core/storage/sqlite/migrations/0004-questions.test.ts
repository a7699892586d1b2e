import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ProjectSettings } from '../../../../src-shared/records.ts'
import { writeOldDatabase } from '../../test-old-rows.ts'
import { assumptionRow, commitOf, questionRow, smallWorld } from '../../test-samples.ts'
import { openSqliteDirect } from '../direct.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-migration-'))
  file = join(folder, 'ballet.sqlite')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('version 3 gets questions and assumptions; what was there gets what a new one has', async () => {
  const world = smallWorld()
  const updatedAt = '2026-11-29T13:00:00.000Z'
  const { project, ticket, session: before } = world
  writeOldDatabase(file, 3, { project, ticket, session: { ...before, updatedAt } })

  const storage = await openSqliteDirect(file)
  const { sources, planner, notify } = ProjectSettings.parse({ name: 'Shop', repo: '/srv/shop' })
  expect(await storage.row('project', world.project.id)).toEqual({
    ...world.project,
    sources,
    planner,
    skill: null,
    notify,
    version: 1,
    change: 1,
  })
  expect(await storage.row('ticket', world.ticket.id)).toMatchObject({ questions: 0 })
  expect(await storage.row('session', world.session.id)).toEqual({
    ...world.session,
    updatedAt,
    stateSince: updatedAt,
    progress: null,
    outcome: null,
    outcomeText: '',
    version: 1,
    change: 1,
    lastSeq: 7,
  })

  const answer = {
    text: 'Blue',
    options: [1],
    author: 'person' as const,
    citations: [],
    declined: false,
  }
  const question = questionRow(world.session, {
    state: 'answered',
    answer,
    undoUntil: updatedAt,
    held: { sendNow: true, resume: false },
  })
  const assumption = assumptionRow(world.session)
  await storage.commit(
    commitOf({
      puts: [
        { table: 'question', row: question },
        { table: 'assumption', row: assumption },
        {
          table: 'session',
          row: { ...world.session, progress: { summary: 'half', done: 1 }, outcome: 'done' },
        },
      ],
    }),
  )
  expect(await storage.row('question', question.id)).toMatchObject(question)
  expect(await storage.row('assumption', assumption.id)).toMatchObject(assumption)
  expect(await storage.row('session', world.session.id)).toMatchObject({
    progress: { summary: 'half', done: 1 },
    outcome: 'done',
  })
  await storage.commit(commitOf({ deletes: [{ table: 'session', id: world.session.id }] }))
  expect(await storage.rows({ table: 'question' })).toEqual([])
  expect(await storage.rows({ table: 'assumption' })).toEqual([])
  const deleted = (await storage.deletions(0)).map(({ table, id }) => `${table} ${id}`)
  expect(deleted).toEqual(
    expect.arrayContaining([`question ${question.id}`, `assumption ${assumption.id}`]),
  )
  await storage.close()
})
