import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { insertOldRow } from '../../test-old-rows.ts'
import { commitOf, inputRow, smallWorld } from '../../test-samples.ts'
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

test('inputs of version 2 have no images, and none of them is steered', async () => {
  const world = smallWorld()
  const old = openDatabase(file, migrations.slice(0, 2))
  old.transaction(() => {
    insertOldRow(old, 'project', world.project)
    insertOldRow(old, 'ticket', world.ticket)
    insertOldRow(old, 'session', world.session, { lastSeq: 7 })
    insertOldRow(old, 'input', { ...world.input, images: undefined, steer: undefined })
  })()
  old.close()

  const storage = await openSqliteDirect(file)
  expect(await storage.row('input', world.input.id)).toEqual({
    ...world.input,
    images: [],
    steer: false,
    version: 1,
    change: 1,
  })
  const image = { blob: 'a'.repeat(64), mediaType: 'image/png', bytes: 70 } as never
  const next = inputRow(world.session, { images: [image], steer: true, position: 1.25 })
  await storage.commit(commitOf({ puts: [{ table: 'input', row: next }] }))
  expect(await storage.row('input', next.id)).toMatchObject(next)
  await storage.close()
})
