import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { guardIsUp, writeGuard } from './guard.ts'

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-guard-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

it('takes what the plugin of an earlier server did for nothing that the next one did', async () => {
  await writeGuard(folder)
  await writeFile(join(folder, 'guard.done'), 'wiped')
  expect(await guardIsUp(folder, 0)).toBe(true)
  await writeGuard(folder)
  expect(await guardIsUp(folder, 0)).toBe(false)
})
