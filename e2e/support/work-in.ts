import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Everything of the work in a workspace, as texts that can be compared; contents as SHA-256. */
export type Work = {
  readonly head: string
  readonly index: readonly string[]
  /** Kind, hash and path of each file that is not ignored. */
  readonly files: readonly string[]
  readonly emptyFolders: readonly string[]
  readonly branches: readonly string[]
  readonly stashes: readonly string[]
  readonly status: readonly string[]
}

/** Reads a workspace without changing anything in it. */
export async function workIn(folder: string): Promise<Work> {
  const git = async (...args: string[]) => {
    const { stdout } = await run('git', args, {
      cwd: folder,
      encoding: 'latin1',
      maxBuffer: 64 * 1024 * 1024,
      env: { PATH: process.env.PATH, HOME: folder, GIT_OPTIONAL_LOCKS: '0' },
    })
    return stdout
  }
  const list = async (...args: string[]) => (await git(...args)).split(/[\0\n]/u).filter(Boolean)
  const ignored = new Set(
    await list('ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'),
  )
  const files: string[] = []
  const emptyFolders: string[] = []
  const look = async (below: string): Promise<void> => {
    const names = (await readdir(inBytes(join(folder, below)), { encoding: 'buffer' })).map(
      (name) => name.toString('latin1'),
    )
    if (names.length === 0) emptyFolders.push(below)
    for (const name of names.sort()) {
      const path = below === '' ? name : `${below}/${name}`
      if (path === '.git' || ignored.has(path) || ignored.has(`${path}/`)) continue
      const info = await lstat(inBytes(join(folder, path)))
      if (info.isDirectory()) await look(path)
      else files.push(await describeFile(join(folder, path), path))
    }
  }
  await look('')
  return {
    head: `${await git('rev-parse', 'HEAD')} ${await git('symbolic-ref', 'HEAD')}`,
    index: await list('ls-files', '-z', '-v', '--stage'),
    files,
    emptyFolders,
    branches: await list('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads'),
    stashes: await list('stash', 'list', '--format=%H %gs'),
    status: await list('status', '-z', '--porcelain=v2', '--untracked-files=all'),
  }
}

/** Names may have any bytes; as text they are read byte by byte, as the lists of git are here. */
function inBytes(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}

async function describeFile(file: string, path: string): Promise<string> {
  const place = inBytes(file)
  const info = await lstat(place)
  const isLink = info.isSymbolicLink()
  const content = isLink ? await readlink(place) : await readFile(place)
  const kind = isLink ? 'link' : (info.mode & 0o100) === 0 ? 'file' : 'program'
  return `${kind} ${createHash('sha256').update(content).digest('hex')} ${path}`
}
