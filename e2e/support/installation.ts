import { cp, mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { ROOT } from '../electron-runtime.ts'

/**
 * Lays the built command line and headless host into the folder as an installation would: without the clone's
 * development dependencies, and so without the Claude Code among them. Gives its `ballet`.
 */
export async function installInto(folder: string): Promise<string> {
  await mkdir(join(folder, 'node_modules'), { recursive: true })
  for (const part of ['bin', 'out/node', 'package.json', 'resources']) {
    await cp(join(ROOT, part), join(folder, part), { recursive: true })
  }
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), link)
  }
  return join(folder, 'bin', 'ballet.mjs')
}
