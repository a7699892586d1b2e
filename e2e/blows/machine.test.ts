import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { withTempFolder } from '../support/temp-folder.ts'
import { pendingIn, withoutWorkspace } from './machine.ts'

type Row = {
  readonly id: string
  readonly base?: string
  readonly parked?: { restored: boolean }
  readonly pending?: string
  readonly lease?: string
}

/** What is read of a database with these sessions. */
function withSessions<T>(rows: readonly Row[], read: (dataDir: string) => T): Promise<T> {
  return withTempFolder(async (folder) => {
    const db = new Database(join(folder, 'ballet.sqlite'))
    db.exec(`CREATE TABLE session
      (id TEXT, base_commit TEXT, parked TEXT, pending TEXT, lease_id TEXT) STRICT`)
    const insert = db.prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?)')
    for (const { id, base = null, parked = null, pending = null, lease = null } of rows) {
      insert.run(id, base, parked && JSON.stringify(parked), pending, lease)
    }
    db.close()
    return read(folder)
  })
}

it('tells of which sessions no workspace can be there yet, or not yet again', async () => {
  const base = 'c0ffee'
  const rows = [
    { id: 'never cloned' },
    { id: 'cloned', base },
    { id: 'not restored yet', base, parked: { restored: false } },
    { id: 'restored', base, parked: { restored: true } },
  ]
  expect(await withSessions(rows, withoutWorkspace)).toEqual(['never cloned', 'not restored yet'])
})

it('tells what is under way, also a finish that the host does without an agent', async () => {
  const pending = 'finish'
  const rows = [
    { id: 'with its agent', pending, lease: 'lease' },
    { id: 'from its workspace', pending },
    { id: 'after its restore', pending, parked: { restored: false } },
    { id: 'restored before', pending, parked: { restored: true } },
    { id: 'asked for nothing' },
  ]
  expect(await withSessions(rows, pendingIn)).toEqual([
    'with its agent is to finish',
    'from its workspace is to finish',
    'restored before is to finish',
  ])
})
