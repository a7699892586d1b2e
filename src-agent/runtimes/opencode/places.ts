import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The folder in which opencode keeps its logins and its conversations. */
export function dataFolder(env: Readonly<Record<string, string>>): string {
  const set = env.XDG_DATA_HOME
  const base =
    set !== undefined && set !== ''
      ? set
      : join(env.HOME ?? env.USERPROFILE ?? homedir(), '.local', 'share')
  return join(base, 'opencode')
}

/** The database of all conversations. */
export function databaseFile(env: Readonly<Record<string, string>>): string {
  return join(dataFolder(env), 'opencode.db')
}

export async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
