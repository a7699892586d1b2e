import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { homeOf } from '../find-program.ts'

/** The folder in which opencode keeps its logins and its conversations. */
export function dataFolder(env: Readonly<Record<string, string>>): string {
  return folderOf(env, 'XDG_DATA_HOME', 'share')
}

/** The folder in which it keeps its locks and what its own window remembers. */
export function stateFolder(env: Readonly<Record<string, string>>): string {
  return folderOf(env, 'XDG_STATE_HOME', 'state')
}

/** The person's own configuration for every folder. */
export function globalConfigFile(env: Readonly<Record<string, string>>): string {
  const { XDG_CONFIG_HOME: set = '' } = env
  const base = set === '' ? join(homeOf(env), '.config') : set
  return join(base, 'opencode', 'opencode.json')
}

function folderOf(env: Readonly<Record<string, string>>, name: string, usual: string): string {
  const set = env[name]
  const base = set !== undefined && set !== '' ? set : join(homeOf(env), '.local', usual)
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
