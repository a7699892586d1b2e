import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeGitRemote } from './git-remote.ts'
import { makeTempFolder, type TempFolder } from './temp-folder.ts'

const run = promisify(execFile)
let folder: TempFolder

beforeEach(async () => {
  folder = await makeTempFolder()
})
afterEach(async () => {
  await folder.remove()
})

it('has one commit, and shows branches, files and log', async () => {
  const remote = await makeGitRemote(folder.path, { files: { 'a b/ä.txt': 'one\n', c: '' } })
  expect(await remote.branches()).toEqual(['main'])
  expect(await remote.listFiles('main')).toEqual(['a b/ä.txt', 'c'])
  expect(await remote.readFile('main', 'a b/ä.txt')).toBe('one\n')
  expect(await remote.readFile('main', 'c')).toBe('')
  expect(await remote.readFile('main', 'none')).toBeUndefined()
  expect(await remote.log('main')).toMatchObject([
    { subject: 'First commit', body: '', author: 'Sample Author <author@example.org>' },
  ])
})

it('takes commits of somebody else, on a known and on a new branch', async () => {
  const remote = await makeGitRemote(folder.path)
  const second = await remote.commit('main', 'Second\n\nWith a body', { 'README.md': null, b: 'b' })
  await remote.commit('side', 'Aside', { s: 's' })
  expect(await remote.branches()).toEqual(['main', 'side'])
  expect(await remote.log('main')).toMatchObject([
    { hash: second, subject: 'Second', body: 'With a body' },
    { subject: 'First commit' },
  ])
  expect(await remote.listFiles('side')).toEqual(['b', 's'])
})

it('is made from a folder, with another branch name', async () => {
  const source = join(folder.path, 'source')
  await mkdir(source)
  await writeFile(join(source, 'x'), 'X')
  const remote = await makeGitRemote(folder.path, { copyOf: source, branch: 'trunk' })
  expect(await remote.readFile('trunk', 'x')).toBe('X')
})

it('can be empty', async () => {
  const remote = await makeGitRemote(folder.path, { empty: true })
  expect(await remote.branches()).toEqual([])
})

it('refuses pushes with its message until it accepts them again', async () => {
  const remote = await makeGitRemote(folder.path)
  const work = join(folder.path, 'work')
  await run('git', ['clone', '--quiet', remote.url, work])
  const push = () =>
    run('git', ['push', '--quiet', 'origin', 'HEAD:refs/heads/mine'], { cwd: work })
  await remote.refusePushes(`It's closed, "really"`)
  await expect(push()).rejects.toThrow(/It's closed, "really"/u)
  expect(await remote.branches()).toEqual(['main'])
  await remote.acceptPushes()
  await push()
  expect(await remote.branches()).toEqual(['main', 'mine'])
})
