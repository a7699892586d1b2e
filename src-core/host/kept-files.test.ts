import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SessionId } from '../../src-shared/ids.ts'
import { keptFile, newId } from '../storage/test-samples.ts'
import { layOut } from './data-folder.ts'
import { keptFiles } from './kept-files.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-kept-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a kept file is what it is said to be, or refused; removal takes what is named', async () => {
  const paths = layOut(folder)
  const kept = keptFiles(paths)
  const session = newId<SessionId>()
  const dir = paths.kept(session)
  mkdirSync(dir, { recursive: true })
  const content = Buffer.alloc(600_000, 'x')
  const file = keptFile({
    name: 'state-1.sealed',
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  })
  writeFileSync(join(dir, file.name), content)
  writeFileSync(join(dir, 'bundle-1.sealed'), 'b')
  expect(await kept.verify(session, [file])).toMatchObject({ ok: true })
  expect(await kept.verify(session, [{ ...file, bytes: 1 }])).toMatchObject({
    refusal: { code: 'kept.corrupt' },
  })
  content[300_000] = 0
  writeFileSync(join(dir, file.name), content)
  expect(await kept.verify(session, [file])).toMatchObject({ refusal: { code: 'kept.corrupt' } })
  expect(await kept.verify(session, [{ ...file, name: 'gone.sealed' }])).toMatchObject({
    refusal: { code: 'kept.unreadable' },
  })
  await kept.remove(session, ['gone.sealed', 'bundle-1.sealed'])
  expect(readdirSync(dir)).toEqual([file.name])
  await kept.remove(session, null)
  await kept.remove(session, null)
  expect(existsSync(dir)).toBe(false)
})
