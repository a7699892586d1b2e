import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeOldDatabase } from '../../test-old-rows.ts'
import { commitOf, keptWork, smallWorld } from '../../test-samples.ts'
import { openSqliteDirect } from '../direct.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-migration-'))
  file = join(folder, 'ballet.sqlite')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('version 4 gets online windows and kept work; a session that was there has neither', async () => {
  const world = smallWorld()
  const { project, ticket, session: before } = world
  writeOldDatabase(file, 4, { project, ticket, session: before })

  const storage = await openSqliteDirect(file)
  expect(await storage.row('session', world.session.id)).toEqual({
    ...world.session,
    window: null,
    parkAt: null,
    parkFrom: null,
    saga: null,
    parked: null,
    wakes: false,
    preface: null,
    version: 1,
    change: 1,
    lastSeq: 7,
  })
  const row = {
    ...world.session,
    window: '90s',
    parkAt: '2026-11-29T13:00:00.000Z',
    parkFrom: '2026-11-29T12:50:00.000Z',
    saga: { id: 'saga-1', why: 'window' as const, fast: false, seq: 3, resumes: true },
    parked: keptWork(),
    wakes: true,
    preface: 'Somebody moved the branch.',
  }
  await storage.commit(commitOf({ puts: [{ table: 'session', row }] }))
  expect(await storage.row('session', world.session.id)).toMatchObject(row)
  await storage.close()
})
