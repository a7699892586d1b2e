import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newFolderFor, removeWorkspace } from './folders.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'ballet-folders-'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const workspace = (name: string) => join(dataDir, 'workspaces', name)

it.each(['made', 'only begun'])('removes a workspace that is %s, and no other', async (how) => {
  const begun = await newFolderFor(workspace('SHOP-1-abcdef'))
  const made = how === 'made' ? [workspace('SHOP-1-abcdef')] : []
  for (const folder of [begun, ...made, await newFolderFor(workspace('SHOP-2-abcdef'))]) {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'file'), '')
  }
  expect(await removeWorkspace(dataDir, workspace('SHOP-1-abcdef'))).toBe(true)
  expect(await readdir(join(dataDir, 'workspaces'))).toEqual(['.new-SHOP-2-abcdef'])
})
