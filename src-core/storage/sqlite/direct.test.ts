import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { testStoragePort } from '../test-port.ts'
import { openSqliteDirect } from './direct.ts'

const folder = mkdtempSync(join(tmpdir(), 'ballet-storage-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let opened = 0
testStoragePort('SQLite in this thread', () => {
  opened += 1
  return openSqliteDirect(join(folder, `${opened}-ballet.sqlite`))
})
