import { chmod, lstat } from 'node:fs/promises'
import { absolutePath, type PathBytes } from './path-bytes.ts'
import { statAll } from './stat-files.ts'
import { type Survey, setting } from './survey.ts'

type Mode = { path: PathBytes; mode: number }

/**
 * Permissions of files that are not those of a new one: what the umask leaves of `rw-rw-rw-`, of a program also of the
 * `x` bits. Set-user-id and the like are not among them: no workspace may bring such a program to another machine.
 */
export async function unusualModes(
  { cwd, config }: Pick<Survey, 'cwd' | 'config'>,
  paths: readonly PathBytes[],
): Promise<Mode[]> {
  if (setting(config, 'core.filemode') === 'false') return []
  const allowed = ~process.umask()
  return [...(await statAll(cwd, paths))].flatMap(([path, info]) => {
    const mode = info.mode & 0o777
    const usual = ((mode & 0o100) === 0 ? 0o666 : 0o777) & allowed
    return mode === usual || !info.isFile() ? [] : [{ path, mode }]
  })
}

export async function setModes(cwd: string, modes: readonly Mode[]): Promise<void> {
  for (const { path, mode } of modes) {
    const file = absolutePath(cwd, path)
    // Never through a link: that may lead out of the workspace.
    if ((await lstat(file)).isFile()) await chmod(file, mode)
  }
}
