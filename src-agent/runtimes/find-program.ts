import { access, constants, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Where a program of this name is: the folders of PATH first, then the usual places of programs that people install
 * for themselves, among them folders of its `own` below the person's home. Absolute paths, each once.
 */
export async function programsNamed(
  name: string,
  env: Readonly<Record<string, string>>,
  own: readonly string[] = [],
): Promise<string[]> {
  const onPath = (env.PATH ?? env.Path ?? '').split(delimiter).filter(isAbsolute)
  const names = process.platform === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name]
  const found: string[] = []
  for (const folder of new Set([...onPath, ...usualPlaces(env, own)])) {
    for (const file of names) {
      const path = join(folder, file)
      if (await isProgram(path)) found.push(path)
    }
  }
  return found
}

function usualPlaces(env: Readonly<Record<string, string>>, own: readonly string[]): string[] {
  const home = homeOf(env)
  return [
    join(home, '.local', 'bin'),
    ...own.map((folder) => join(home, folder)),
    '/usr/local/bin',
    '/opt/homebrew/bin',
    ...(env.NPM_CONFIG_PREFIX === undefined ? [] : [join(env.NPM_CONFIG_PREFIX, 'bin')]),
    join(home, '.npm-global', 'bin'),
    ...(env.APPDATA === undefined ? [] : [join(env.APPDATA, 'npm')]),
    ...besideApplication(),
  ]
}

/** The person's home folder, as an environment has it. */
export const homeOf = (env: Readonly<Record<string, string>>): string =>
  env.HOME ?? env.USERPROFILE ?? homedir()

/** `node_modules/.bin` of the folders above this file: the one that the application was installed with. */
function besideApplication(): string[] {
  const places: string[] = []
  let folder = dirname(fileURLToPath(import.meta.url))
  while (dirname(folder) !== folder) {
    places.push(join(folder, 'node_modules', '.bin'))
    folder = dirname(folder)
  }
  return places
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
