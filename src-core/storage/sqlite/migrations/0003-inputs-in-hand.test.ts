import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeOldDatabase } from '../../test-old-rows.ts'
import { commitOf, inputRow, smallWorld } from '../../test-samples.ts'
import { openSqliteDirect } from '../direct.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-migration-'))
  file = join(folder, 'ballet.sqlite')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('inputs of version 2 have no images, and none of them is steered', async () => {
  const world = smallWorld()
  const input = { ...world.input, images: undefined, steer: undefined }
  writeOldDatabase(file, 2, { ...world, input })

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
