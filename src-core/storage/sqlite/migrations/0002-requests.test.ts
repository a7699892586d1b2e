import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { commitOf, requestRow, smallWorld } from '../../test-samples.ts'
import { openDatabase } from '../database.ts'
import { openSqliteDirect } from '../direct.ts'
import { migrations } from './index.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-migration-'))
  file = join(folder, 'ballet.sqlite')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Puts a value into each column that a table has in this version. */
function insert(db: Database, table: string, row: object, more: object = {}): void {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const values = new Map(
    Object.entries({ ...row, ...more, version: 1, change: 1 }).map(([name, value]) => [
      snake(name),
      typeof value === 'object' && value !== null
        ? JSON.stringify(value)
        : typeof value === 'boolean'
          ? Number(value)
          : value,
    ]),
  )
  const columns = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table)
  const known = columns.filter((name): name is string => values.has(String(name)))
  db.prepare(
    `INSERT INTO ${table} (${known.map((name) => `"${name}"`).join(', ')}) ` +
      `VALUES (${known.map(() => '?').join(', ')})`,
  ).run(...known.map((name) => values.get(name)))
}

test('version 1 gets requests, and its sessions allow nothing', async () => {
  const world = smallWorld()
  const old = openDatabase(file, migrations.slice(0, 1))
  old.transaction(() => {
    insert(old, 'project', world.project)
    insert(old, 'ticket', world.ticket)
    insert(old, 'session', world.session, { lastSeq: 7 })
  })()
  old.close()

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
