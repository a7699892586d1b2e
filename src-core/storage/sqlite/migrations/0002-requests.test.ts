import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeOldDatabase } from '../../test-old-rows.ts'
import { commitOf, requestRow, smallWorld } from '../../test-samples.ts'
import { openSqliteDirect } from '../direct.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-migration-'))
  file = join(folder, 'ballet.sqlite')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('version 1 gets requests, and its sessions allow nothing', async () => {
  const world = smallWorld()
  const { project, ticket, session: before } = world
  writeOldDatabase(file, 1, { project, ticket, session: before })

  const storage = await openSqliteDirect(file)
  const session = await storage.row('session', world.session.id)
  expect(session).toEqual({ ...world.session, grants: [], version: 1, change: 1, lastSeq: 7 })
  expect(await storage.rows({ table: 'request' })).toEqual([])

  const grants = [{ digest: 'e'.repeat(64), rules: [{ type: 'addRules' }] }]
  const request = requestRow(world.session)
  await storage.commit(
    commitOf({
      puts: [
        { table: 'session', row: { ...world.session, grants } },
        { table: 'request', row: request },
      ],
    }),
  )
  expect(await storage.row('session', world.session.id)).toMatchObject({ grants })
  expect(await storage.row('request', request.id)).toMatchObject(request)
  await storage.commit(commitOf({ deletes: [{ table: 'session', id: world.session.id }] }))
  expect(await storage.rows({ table: 'request' })).toEqual([])
  expect(await storage.deletions(0)).toContainEqual(
    expect.objectContaining({ table: 'request', id: request.id }),
  )
  await storage.close()
})
