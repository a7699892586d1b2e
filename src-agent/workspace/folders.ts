import { randomBytes } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'

export const WORKSPACES_FOLDER = 'workspaces'

const NEW_PREFIX = '.new-'
const TRASH_PREFIX = '.trash-'
/** What a preparation that was cut leaves is nobody's after this time. */
const LEFTOVER_AGE_MS = 24 * 3_600_000

/**
 * Rejects with `workspace.outside` unless the path is a direct child of the data folder's workspaces and no symbolic
 * link is on the way there. The folder itself need not exist.
 */
export async function guardWorkspace(dataDir: string, workspaceDir: string): Promise<void> {
  const parent = join(resolve(dataDir), WORKSPACES_FOLDER)
  const name = basename(workspaceDir)
  const isChild = dirname(resolve(workspaceDir)) === parent && /^[A-Za-z0-9][\w.-]*$/.test(name)
  if (!isChild) throw outside(workspaceDir, parent)
  await mkdir(parent, { recursive: true })
  const real = await realpath(parent)
  if (real !== join(await realpath(dataDir), WORKSPACES_FOLDER)) throw outside(workspaceDir, parent)
  const kind = await kindOf(join(parent, name))
  if (kind !== 'folder' && kind !== 'nothing') throw outside(workspaceDir, parent)
}

export async function kindOf(path: string): Promise<'folder' | 'nothing' | 'other'> {
  try {
    return (await lstat(path)).isDirectory() ? 'folder' : 'other'
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'nothing'
    throw error
  }
}

/** Where a workspace is made before it gets its name; what an earlier attempt left there is gone. */
export async function newFolderFor(workspaceDir: string): Promise<string> {
  const folder = join(dirname(workspaceDir), `${NEW_PREFIX}${basename(workspaceDir)}`)
  await removeTree(folder)
  return folder
}

/**
 * Takes the workspace out of its place in one step, then deletes it. What cannot be deleted stays as trash, which
 * `sweepFolders` tries again; the answer tells whether everything is gone.
 */
export async function removeWorkspace(dataDir: string, workspaceDir: string): Promise<boolean> {
  await guardWorkspace(dataDir, workspaceDir)
  // Who removes it holds the session: what an earlier attempt to make it left is nobody's.
  const isNewGone = await newFolderFor(workspaceDir).then(
    () => true,
    () => false,
  )
  if ((await kindOf(workspaceDir)) === 'nothing') return isNewGone
  const trash = join(
    dirname(workspaceDir),
    `${TRASH_PREFIX}${basename(workspaceDir)}-${randomBytes(4).toString('hex')}`,
  )
  await rename(workspaceDir, trash)
  try {
    await removeTree(trash)
    return isNewGone
  } catch {
    return false
  }
}

/** Deletes trash, and unfinished workspaces that nobody can be making any more. */
export async function sweepFolders(dataDir: string): Promise<void> {
  const parent = join(dataDir, WORKSPACES_FOLDER)
  for (const name of await readdir(parent).catch(() => [])) {
    const path = join(parent, name)
    if (name.startsWith(TRASH_PREFIX)) await removeTree(path).catch(() => undefined)
    if (!name.startsWith(NEW_PREFIX)) continue
    const info = await lstat(path).catch(() => null)
    if (info !== null && Date.now() - info.mtimeMs > LEFTOVER_AGE_MS) {
      await removeTree(path).catch(() => undefined)
    }
  }
}

/** Deletes a folder with all that is in it; symbolic links are removed, never followed. */
export async function removeTree(folder: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }
  try {
    await rm(folder, options)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    // Package caches make their folders read-only.
    await makeFoldersWritable(folder)
    await rm(folder, options)
  }
}

async function makeFoldersWritable(folder: string): Promise<void> {
  await chmod(folder, 0o700)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeFoldersWritable(join(folder, entry.name))
  }
}

function outside(workspaceDir: string, parent: string): BalletError {
  return new BalletError({
    code: 'workspace.outside',
    message: `${workspaceDir} is no workspace of Ballet: only plain folders directly in ${parent} are.`,
    hint: 'Ballet touches nothing else. Check whether the data folder was moved or linked.',
  })
}
