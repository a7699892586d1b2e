import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { absolutePath, nameOfPath, type PathBytes } from '../path-bytes.ts'

const run = promisify(execFile)

/** Everything of a workspace that a person or an agent can see of its work, one text a thing. */
export type Fingerprint = {
  head: string
  /** Mode, content, flags and path of each entry of git's index. */
  index: readonly string[]
  intentToAdd: readonly string[]
  /** Permissions, kind, SHA-256 and path of each file that is not ignored. */
  files: readonly string[]
  /** Folders with nothing in them. */
  emptyFolders: readonly string[]
  /** Branches, tags and other refs of its own, with what they stand for. */
  refs: readonly string[]
  stashes: readonly string[]
  status: readonly string[]
}

/**
 * Takes the fingerprint in another way than the snapshot does: by walking the disk, and by asking git what it shows to
 * a person. `env` is the whole environment of git.
 */
export async function fingerprintOf(
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Fingerprint> {
  const git = async (...args: string[]) => {
    const options = {
      cwd,
      env: { ...env, GIT_OPTIONAL_LOCKS: '0' },
      encoding: 'latin1',
      maxBuffer: 512 * 1024 * 1024,
    } as const
    return (await run('git', ['-c', 'core.hooksPath=/dev/null', ...args], options)).stdout
  }
  const list = async (...args: string[]) => (await git(...args)).split('\0').filter(Boolean)
  const ignoredArgs = ['--others', '--ignored', '--exclude-standard', '--directory']
  const ignored = new Set(await list('ls-files', '-z', ...ignoredArgs))
  const { files, emptyFolders } = await walk(cwd, ignored)
  return {
    head: `${await git('rev-parse', 'HEAD').catch(() => 'unborn')} ${await git('symbolic-ref', '-q', 'HEAD').catch(() => 'detached')}`,
    index: (await list('ls-files', '-z', '-v', '--stage')).map(nameOfPath),
    intentToAdd: (await list('diff-files', '-z', '--name-status', '--diff-filter=A')).map(
      nameOfPath,
    ),
    files,
    emptyFolders,
    refs: (await git('for-each-ref', '--format=%(refname) %(objectname) %(symref)'))
      .split('\n')
      .filter((line) => line !== '' && !/^refs\/(remotes|ballet|stash)/.test(line)),
    stashes: (await git('stash', 'list', '--format=%H %gd %gs')).split('\n').filter(Boolean),
    status: (
      await list('status', '-z', '--porcelain=v2', '--untracked-files=all', '--no-renames')
    ).map(nameOfPath),
  }
}

async function walk(cwd: string, ignored: ReadonlySet<PathBytes>) {
  const files: string[] = []
  const emptyFolders: string[] = []
  const look = async (folder: PathBytes) => {
    const names = await readdir(absolutePath(cwd, folder), { encoding: 'buffer' })
    if (names.length === 0) emptyFolders.push(nameOfPath(folder))
    for (const name of names.map((each) => each.toString('latin1')).sort()) {
      const path = folder === '' ? name : `${folder}/${name}`
      if (path === '.git' || ignored.has(path) || ignored.has(`${path}/`)) continue
      const file = absolutePath(cwd, path)
      const info = await lstat(file)
      if (info.isDirectory()) {
        await look(path)
      } else {
        const content = info.isSymbolicLink()
          ? await readlink(file, { encoding: 'buffer' })
          : await readFile(file)
        const kind = info.isSymbolicLink() ? 'link' : (info.mode & 0o100) === 0 ? 'file' : 'program'
        files.push(
          `${kind} ${createHash('sha256').update(content).digest('hex')} ${nameOfPath(path)}`,
        )
      }
    }
  }
  await look('')
  return { files, emptyFolders }
}
