import { readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { FoundThing } from '../../src-shared/moving.ts'
import { BalletError, type Refusal } from '../../src-shared/refusal.ts'
import type { Environment } from '../git/environment.ts'
import type { Git } from '../git/run.ts'
import type { Drivers } from '../runtimes/registry.ts'
import type { Log } from '../session-loop/context.ts'
import { refusalOf } from '../workspace/failure.ts'
import { kindOf, removeTree, WORKSPACES_FOLDER } from '../workspace/folders.ts'
import { isStaleLock } from '../workspace/lock-file.ts'
import { readRecord } from '../workspace/record.ts'
import { removeIfPushed } from '../workspace/removal.ts'
import { statePlaces, THINGS } from './find-things.ts'

type Parts = {
  dataDir: string
  git: Git
  drivers: Drivers
  /** Of the host, and with what each project adds. */
  envs: readonly Environment[]
  signal: AbortSignal
  log?: Log
}

/** Removes each by itself. Null for one that is gone; else why it is not. */
export async function removeThings(
  things: readonly FoundThing[],
  parts: Parts,
): Promise<(Refusal | null)[]> {
  const refusals: (Refusal | null)[] = []
  for (const thing of things) {
    refusals.push(
      await remove(thing, parts).then(
        () => null,
        (error: unknown) => refusalOf(error, `removing ${thing.path}`),
      ),
    )
  }
  return refusals
}

async function remove(thing: FoundThing, parts: Parts): Promise<void> {
  const { dataDir } = parts
  const name = basename(thing.path)
  const stands = (...folders: string[]) => dirname(thing.path) === join(dataDir, ...folders)
  switch (thing.kind) {
    case 'workspace':
      if (!stands(WORKSPACES_FOLDER)) throw notOurs(thing)
      return removeUnowned(thing, parts)
    case 'kept': {
      const owner = thing.owner ?? ''
      if (thing.path === join(dataDir, 'kept', owner)) return rmdir(thing.path)
      if (!stands('kept', owner) || !THINGS.kept.test(name)) throw notOurs(thing)
      await rm(thing.path, { recursive: true, force: true })
      // Only an empty one goes.
      return rmdir(dirname(thing.path)).catch(() => undefined)
    }
    case 'scratch': {
      const isScratch = stands('scratch') && (THINGS.lease.test(name) || THINGS.onTheWay.test(name))
      const isHalf = stands(WORKSPACES_FOLDER) && THINGS.halfWorkspace.test(name)
      if (!isScratch && !isHalf && !(stands('mirrors') && THINGS.halfMirror.test(name))) {
        throw notOurs(thing)
      }
      return removeTree(thing.path)
    }
    case 'mirror':
      if (!stands('mirrors') || !THINGS.mirror.test(name)) throw notOurs(thing)
      await mustNotBeBorrowed(thing.path, dataDir)
      return removeTree(thing.path)
    case 'lock':
      if (!stands('mirrors') || !THINGS.lock.test(name) || !(await isStaleLock(thing.path))) {
        throw notOurs(thing)
      }
      return rm(thing.path, { force: true })
    case 'state':
      return removeState(thing, parts)
  }
}

/** Of the runtime that keeps it, whichever that is. */
async function removeState(
  { path, owner }: FoundThing,
  { dataDir, drivers, envs, log }: Parts,
): Promise<void> {
  if (owner === null) return
  const onLeft = (what: string) => log?.('warn', what)
  let failure: unknown
  for (const place of statePlaces(dataDir, envs)) {
    for (const { state } of Object.values(drivers)) {
      try {
        const all = (await state?.list(place)) ?? []
        if (!all.some((each) => each.path === path && each.conversation === owner)) continue
        await state?.remove(owner, { ...place, onLeft })
        return
      } catch (error) {
        // Another one may be the one that keeps it.
        failure ??= error
      }
    }
  }
  if (failure !== undefined) throw failure
}

/** As with every workspace: what is nowhere else stays. */
async function removeUnowned(thing: FoundThing, { dataDir, git, signal }: Parts): Promise<void> {
  const record = await readRecord(thing.path)
  if (record === null || record.session !== thing.owner) throw notOurs(thing)
  const repo = await git.text(['config', '--get', 'remote.origin.url'], { cwd: thing.path })
  const plan = { dataDir, workspaceDir: thing.path, repo, branch: record.branch }
  await removeIfPushed(git, plan, false, signal)
}

/** Clones read objects out of their mirror. */
async function mustNotBeBorrowed(mirror: string, dataDir: string): Promise<void> {
  const parent = join(dataDir, WORKSPACES_FOLDER)
  for (const name of await readdir(parent).catch(() => [])) {
    const folder = join(parent, name)
    if ((await kindOf(folder)) !== 'folder') continue
    const file = join(folder, '.git', 'objects', 'info', 'alternates')
    const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    if (!lines.some((line) => line === join(mirror, 'objects'))) continue
    throw new BalletError({
      code: 'mirror.borrowed',
      message: `The workspace ${folder} reads its commits out of ${mirror}.`,
      hint: 'Look at the workspace first: the mirror can go when it is gone.',
    })
  }
}

function notOurs({ path }: FoundThing): BalletError {
  return new BalletError({
    code: 'leftover.unproven',
    message: `${path} does not prove any more that Ballet made it.`,
    hint: 'It is left. Look at it, and remove it by hand when nobody needs it.',
  })
}
