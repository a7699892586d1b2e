import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Refusal } from '../../src-shared/refusal.ts'

/** What this machine lacks that Ballet can do without, and what is then not so. */
export async function machineNotes(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): Promise<Refusal[]> {
  if (platform !== 'linux' || (await isOnPath('ss', env.PATH ?? ''))) return []
  return [
    {
      code: 'host.callers-unknown',
      message:
        'The program ss was not found, so the host cannot tell whether a session or a person calls it.',
      hint: 'Install it (on Debian the package iproute2); without it a session could steer sessions by mistake.',
    },
  ]
}

async function isOnPath(program: string, path: string): Promise<boolean> {
  for (const folder of path.split(delimiter)) {
    const isThere = await access(join(folder, program), constants.X_OK).then(
      () => folder !== '',
      () => false,
    )
    if (isThere) return true
  }
  return false
}
