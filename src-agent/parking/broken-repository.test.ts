import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { writeFiles } from '../workspace/sample-repository.ts'
import { makeParkingScene, type ParkingScene } from './testing/parking-scene.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let scene: ParkingScene
beforeEach(async () => {
  scene = await makeParkingScene({ 'a.txt': 'a\n' })
  await writeFiles(scene.work, { 'a.txt': 'changed\n', 'new.txt': 'new\n' })
})
afterEach(() => scene.sample.remove())

const inGit = (name: string) => join(scene.work, '.git', name)

const setTo = (name: string, value: string) => () => scene.sh('config', name, value)

it.each([
  ['core.autocrlf', setTo('core.autocrlf', 'garbage'), /'core\.autocrlf', set in .+\.git\/config$/],
  ['core.filemode', setTo('core.filemode', 'maybe'), /'core\.filemode', set in .+\.git\/config$/],
  ['core.compression', setTo('core.compression', '999'), /compression level 999/],
  [
    'a line',
    () => appendFile(inGit('config'), '[core\n'),
    /bad config line \d+ in file \.git\/config/,
  ],
  ['its version', setTo('core.repositoryformatversion', '7'), /git repo version/],
])(
  'a broken setting (%s) is named with its place and the next step, and touches nothing',
  async (_, spoil, said) => {
    const before = await scene.seen()
    const config = await readFile(inGit('config'))
    await spoil()
    await expect(scene.take()).rejects.toEqual(
      expect.objectContaining({
        ...{ code: 'git.configuration', message: expect.stringMatching(said) },
        hint: expect.stringContaining('Mend or remove that setting'),
      }),
    )
    await writeFile(inGit('config'), config)
    expect(await scene.seen()).toEqual(before)
    expect((await scene.take()).workInProgress).toBe(true)
  },
)

it('a broken index is named with the next step', async () => {
  const index = await readFile(inGit('index'))
  await writeFile(inGit('index'), index.subarray(0, 8))
  await expect(scene.take()).rejects.toEqual(
    expect.objectContaining({
      ...{ code: 'workspace.index', hint: expect.stringContaining('Have the agent') },
    }),
  )
  await writeFile(inGit('index'), index)
  expect((await scene.take()).workInProgress).toBe(true)
})
