import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import { captureState } from './state-files.ts'
import { slugOf } from './transcript.ts'

const CONVERSATION = '0b50a9c4-7a6a-4a43-9bb3-5ce2d7f2c1f0'
let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ballet-state-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

it('finds a conversation also when the folder that it ran in is gone', async () => {
  const cwd = join(folder, 'gone')
  const beside = join(folder, 'projects', slugOf(cwd))
  await mkdir(beside, { recursive: true })
  const path = join(beside, `${CONVERSATION}.jsonl`)
  await writeFile(path, '{}\n')
  const env = { CLAUDE_CONFIG_DIR: folder, HOME: folder }
  const scratchDir = join(folder, 'scratch')
  const place = { cwd, env, executable: null, scratchDir, marker: newMarker() }
  expect(await captureState(CONVERSATION, place)).toEqual([{ path, name: `${CONVERSATION}.jsonl` }])
  await rm(path)
  await expect(captureState(CONVERSATION, place)).rejects.toMatchObject({
    code: 'state.missing',
  })
})
