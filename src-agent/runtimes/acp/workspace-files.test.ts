import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WorkspaceFiles } from './workspace-files.ts'

let cwd = ''
let files: WorkspaceFiles

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'ballet-files-'))
  files = new WorkspaceFiles(cwd, () => undefined)
})
afterEach(() => rm(cwd, { recursive: true, force: true }))

it('replaces the whole of a file that was longer', async () => {
  const path = join(cwd, 'a.txt')
  await writeFile(path, 'long before\n')
  await files.write(path, 'short\n')
  expect(await readFile(path, 'utf8')).toBe('short\n')
  expect(await files.read(path)).toBe('short\n')
})

it.skipIf(process.platform === 'win32')('waits for no named pipe and reads no folder', async () => {
  const pipe = join(cwd, 'pipe')
  execFileSync('mkfifo', [pipe])
  const folder = join(cwd, 'folder')
  await mkdir(folder)
  const limit = AbortSignal.timeout(2_000)
  const late = new Promise((resolve) => {
    limit.addEventListener('abort', () => {
      resolve('still waiting')
      // Lets go of what waits for the other end, so that the test can end.
      execFileSync('sh', ['-c', `: <> '${pipe}'`])
    })
  })
  const refused = (work: Promise<unknown>) =>
    Promise.race([work.catch((error: Error) => error.message), late])
  expect(await refused(files.read(pipe))).toMatch('it is no file')
  expect(await refused(files.write(pipe, 'x'))).toMatch(/ENXIO|no file/)
  expect(await refused(files.read(folder))).toMatch('it is no file')
})
