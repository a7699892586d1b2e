import type { Dirent, Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { someOf } from '../../src-shared/some-of.ts'
import type { Report } from '../workspace/report.ts'
import { looksSecret } from '../workspace/set-aside.ts'
import { absolutePath, comparePaths, nameOfPath, type PathBytes } from './path-bytes.ts'
import type { Survey } from './survey.ts'

/** Set-user-id, set-group-id, sticky. */
const SPECIAL_BITS = 0o7000

/** Says what a parking does not keep of a workspace, by name; `settings`: of its repository, in words. */
export async function tellNotKept(
  survey: Survey,
  settings: readonly string[],
  report: Report,
): Promise<void> {
  const all = [...(await oddFiles(survey)), ...settings]
  if (all.length === 0) return
  const text = `Not kept, and not there after a resume: ${someOf(all)}.`
  report.notice('warning', 'snapshot.not-kept', text)
}

/** What git ignores, with what may be secrets first: `.env, build/ and 3 more`; null when nothing. */
export function ignoredInWords({ ignored }: Pick<Survey, 'ignored'>): string | null {
  if (ignored.size === 0) return null
  const rank = (path: PathBytes) => (looksSecret(path) ? 0 : 1)
  const names = [...ignored].sort((a, b) => rank(a) - rank(b) || comparePaths(a, b))
  return someOf(names.map(nameOfPath))
}

/** Hooks of a clone, in words. Ballet makes none. */
export async function hooksOf(cwd: string): Promise<string[]> {
  const names = await readdir(join(cwd, '.git', 'hooks')).catch(() => [])
  return names.filter((name) => !name.endsWith('.sample')).map((name) => `the hook ${name}`)
}

/** Pipes, sockets, devices, and files with rights that no archive takes along, in words. */
async function oddFiles({ cwd, ignored }: Survey): Promise<string[]> {
  const found: string[] = []
  const walk = async (folder: PathBytes): Promise<void> => {
    const entries = await readdir(absolutePath(cwd, folder), {
      withFileTypes: true,
      encoding: 'buffer',
    })
    for (const entry of entries) {
      const path = (folder === '' ? '' : `${folder}/`) + entry.name.toString('latin1')
      if (entry.name.toString() === '.git' || ignored.has(path) || ignored.has(`${path}/`)) continue
      const kind = entry.isFile() ? await bitsOf(absolutePath(cwd, path)) : oddKind(entry)
      if (kind !== null) found.push(`${nameOfPath(path)} (${kind})`)
      if (entry.isDirectory()) await walk(path)
    }
  }
  await walk('')
  return found
}

function oddKind(
  entry: Pick<Dirent, 'isFIFO' | 'isSocket' | 'isBlockDevice' | 'isCharacterDevice'>,
) {
  if (entry.isFIFO()) return 'a pipe'
  if (entry.isSocket()) return 'a socket'
  return entry.isBlockDevice() || entry.isCharacterDevice() ? 'a device' : null
}

async function bitsOf(file: Buffer): Promise<string | null> {
  const info: Stats | null = await lstat(file).catch(() => null)
  return info !== null && (info.mode & SPECIAL_BITS) !== 0 ? 'its setuid or setgid bit' : null
}
