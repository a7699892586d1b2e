import { realpathSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { leadsInside, pathInside } from './inside-workspace.ts'

let root = ''

/** Where a path leads within the workspace, relative to it; null where it leads out. */
function wayInside(cwd: string, path: string): string | null {
  const real = pathInside(cwd, path)
  expect(leadsInside(cwd, path)).toBe(real !== null)
  return real === null ? null : relative(realpathSync(cwd), real)
}

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ballet-inside-'))
  await mkdir(join(root, 'work', 'src'), { recursive: true })
  await mkdir(join(root, 'other'))
  await writeFile(join(root, 'work', 'src', 'a.ts'), '')
  await symlink(join(root, 'other'), join(root, 'work', 'out'))
  await symlink('src', join(root, 'work', 'in'))
  await symlink('../other/not-yet', join(root, 'work', 'dangling'))
  await symlink('loop', join(root, 'work', 'loop'))
  await symlink(join(root, 'work'), join(root, 'alias'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

test('a path leads into the workspace, also where it is not there yet and where the workspace is behind a link', () => {
  const work = join(root, 'work')
  expect(wayInside(work, 'src/a.ts')).toBe('src/a.ts')
  expect(wayInside(work, join(work, 'new', 'b.ts'))).toBe('new/b.ts')
  expect(wayInside(work, 'in/b.ts')).toBe('src/b.ts')
  expect(wayInside(join(root, 'alias'), join(work, 'src', 'a.ts'))).toBe('src/a.ts')
  expect(wayInside(work, '.')).toBe('')
  expect(wayInside(work, '..hidden')).toBe('..hidden')
})

test('a path that leads out of it does not, also through a link, and one of what is not there', () => {
  const work = join(root, 'work')
  for (const path of ['..', '../other/x', join(root, 'other', 'x'), 'out/x', 'out', 'dangling']) {
    expect(wayInside(work, path), path).toBeNull()
  }
  expect(wayInside(work, 'loop/x')).toBeNull()
  expect(leadsInside(join(root, 'gone'), 'x')).toBe(false)
})

test("git's own files are not the work, at any depth, however they are named, also through a link", async () => {
  const work = join(root, 'work')
  await mkdir(join(work, '.git', 'info'), { recursive: true })
  await writeFile(join(work, 'src', '.git'), 'gitdir: ../.git/modules/src')
  await symlink('.git', join(work, 'innocent'))
  const own = ['.git', '.git/config', '.GIT/hooks/new', 'src/.git', 'deep/er/.git/config']
  const behind = ['innocent', 'innocent/info/attributes', 'src/../.git/config']
  const odd = [
    'git~1/config',
    '.git./config',
    '.git::$INDEX_ALLOCATION/config',
    '.g\u200cit/config',
  ]
  for (const path of [...own, ...behind, ...odd, join(work, '.git', 'config')]) {
    expect(leadsInside(work, path), path).toBe(false)
    expect(pathInside(work, path), path).not.toBeNull()
  }
  for (const path of ['.gitignore', '.github/x.yml', 'a.git/config', 'src/git', 'my.git']) {
    expect(leadsInside(work, path), path).toBe(true)
  }
})
