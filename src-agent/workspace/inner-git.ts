import { lstat, readdir } from 'node:fs/promises'

/**
 * Folders below a workspace in which a `.git` of their own stands that holds something, as Latin-1 paths. git's lists do
 * not tell of them where they hold files of the workspace's own index, and never of what is in such a `.git`. `closed`:
 * folders that are not looked into.
 */
export async function foldersWithGit(
  cwd: string,
  closed: { has(path: string): boolean },
): Promise<string[]> {
  const found: string[] = []
  const walk = async (folder: string) => {
    const entries = await readdir(inBytes(cwd, folder), { withFileTypes: true, encoding: 'buffer' })
    for (const entry of entries) {
      const name = entry.name.toString('latin1')
      const path = folder === '' ? name : `${folder}/${name}`
      if (name === '.git') {
        if (folder !== '' && (await holdsSomething(inBytes(cwd, path)))) found.push(folder)
      } else if (entry.isDirectory() && !closed.has(path)) await walk(path)
    }
  }
  await walk('')
  return found.sort()
}

async function holdsSomething(git: Buffer): Promise<boolean> {
  return !(await lstat(git)).isDirectory() || (await readdir(git)).length > 0
}

function inBytes(cwd: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${cwd}/`), Buffer.from(path, 'latin1')])
}
