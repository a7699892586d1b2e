import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WorkspaceFiles } from './workspace-files.ts'

let cwd = ''
let files: WorkspaceFiles
let refused: string[] = []

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'ballet-files-'))
  refused = []
  files = new WorkspaceFiles(cwd, (path, what, where) => refused.push(`${what} ${path} ${where}`))
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
  const outcome = (work: Promise<unknown>) =>
    Promise.race([work.catch((error: Error) => error.message), late])
  expect(await outcome(files.read(pipe))).toMatch('it is no file')
  expect(await outcome(files.write(pipe, 'x'))).toMatch(/ENXIO|no file/)
  expect(await outcome(files.read(folder))).toMatch('it is no file')
})

it('writes none of git’s own files, also through a link and below the root, and reads them', async () => {
  const config = join(cwd, '.git', 'config')
  await mkdir(join(cwd, '.git'))
  await mkdir(join(cwd, 'part'))
  await writeFile(config, '[core]\n')
  await symlink('.git', join(cwd, 'link'))
  const others = [join('link', 'config'), join('part', '.git'), join('.git', 'hooks', 'pre-commit')]
  for (const path of [config, ...others.map((other) => join(cwd, other))]) {
    await expect(files.write(path, 'x')).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('git’s own files'),
    })
  }
  expect(refused).toHaveLength(4)
  expect(refused[0]).toContain(`write ${config} one of git’s own files`)
  expect(await files.read(config)).toBe('[core]\n')
  await files.write(join(cwd, '.gitignore'), 'dist\n')
  expect(await files.read(join(cwd, '.gitignore'))).toBe('dist\n')
})
