import { createHash } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { SessionMarker } from '../../src-shared/agent-wire.ts'
import type { FoundThing, LeftoverKind } from '../../src-shared/moving.ts'
import type { Environment } from '../git/environment.ts'
import type { RuntimePlace } from '../runtimes/driver.ts'
import type { Drivers } from '../runtimes/registry.ts'
import type { Log } from '../session-loop/context.ts'
import { refusalOf } from '../workspace/failure.ts'
import { WORKSPACES_FOLDER } from '../workspace/folders.ts'
import { isStaleLock } from '../workspace/lock-file.ts'
import { readRecord } from '../workspace/record.ts'

const ID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

/** Names that only Ballet gives, by the folder of the data folder that they stand in; the first group is the owner. */
export const THINGS = {
  kept: /^([a-z]+-[0-9a-f]{16}\.sealed|\.part)$/,
  keptFolder: new RegExp(`^(${ID})$`),
  lease: /^([0-9a-f]{16})$/,
  onTheWay: /^((push|export|import|finish)-[0-9a-f]{12,16}|opencode-[A-Za-z0-9]{6})$/,
  halfWorkspace: /^\.(new|trash)-/,
  mirror: new RegExp(`^(${ID})\\.git(\\.broken-[0-9a-f]{6})?$`),
  halfMirror: new RegExp(`^${ID}\\.git\\.new$`),
  lock: new RegExp(`^(${ID})\\.git\\.lock$`),
}

/**
 * Of programs that look after a data folder and belong to no session: always the same, so that the next try ends what an
 * agent that was killed left of the last.
 */
export function housekeepingMarker(dataDir: string): SessionMarker {
  const digits = createHash('sha256').update(dataDir).digest('hex')
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `5${digits.slice(13, 16)}`]
  const session = [...parts, `8${digits.slice(17, 20)}`, digits.slice(20, 32)].join('-')
  return SessionMarker.parse({ session, nonce: digits.slice(32, 48) })
}

/**
 * What Ballet made in a data folder and what runtimes keep of conversations in its workspaces, as far as the things
 * themselves prove it: by a name that only Ballet gives, in the place for it, and by what they say of themselves.
 * What does not prove it is not in the list. Links are never followed. A runtime that does not say what it keeps, such as
 * one that was removed from this machine, is told to `log`; the others are looked at all the same. Rejects when `signal`
 * is given, before it looks at the next kind or asks the next runtime.
 */
export async function findThings(dataDir: string, options: FindOptions): Promise<FoundThing[]> {
  const found: FoundThing[] = []
  for (const find of [findWorkspaces, findKept, findScratch, findMirrors, findStates]) {
    options.signal.throwIfAborted()
    found.push(...(await find(dataDir, options)))
  }
  return found
}

type FindOptions = {
  drivers: Drivers
  envs: readonly Environment[]
  signal: AbortSignal
  log?: Log
}

async function findWorkspaces(dataDir: string): Promise<FoundThing[]> {
  const found: FoundThing[] = []
  for (const name of await foldersIn(join(dataDir, WORKSPACES_FOLDER))) {
    const path = join(dataDir, WORKSPACES_FOLDER, name)
    if (THINGS.halfWorkspace.test(name)) found.push(await thing('scratch', path, null))
    else {
      const record = await readRecord(path)
      if (record !== null) found.push(await thing('workspace', path, record.session))
    }
  }
  return found
}

async function findKept(dataDir: string): Promise<FoundThing[]> {
  const found: FoundThing[] = []
  for (const session of await foldersIn(join(dataDir, 'kept'))) {
    if (!THINGS.keptFolder.test(session)) continue
    const folder = join(dataDir, 'kept', session)
    const names = await readdir(folder)
    for (const name of names) {
      if (THINGS.kept.test(name)) found.push(await thing('kept', join(folder, name), session))
    }
    if (names.length === 0) found.push(await thing('kept', folder, session))
  }
  return found
}

async function findScratch(dataDir: string): Promise<FoundThing[]> {
  const found: FoundThing[] = []
  for (const name of await foldersIn(join(dataDir, 'scratch'))) {
    const path = join(dataDir, 'scratch', name)
    if (THINGS.lease.test(name)) found.push(await thing('scratch', path, name))
    else if (THINGS.onTheWay.test(name)) found.push(await thing('scratch', path, null))
  }
  return found
}

async function findMirrors(dataDir: string): Promise<FoundThing[]> {
  const parent = join(dataDir, 'mirrors')
  const found: FoundThing[] = []
  for (const name of await readdir(parent).catch(() => [])) {
    const path = join(parent, name)
    const project = THINGS.mirror.exec(name)?.[1]
    if (project !== undefined) found.push(await thing('mirror', path, project))
    else if (THINGS.halfMirror.test(name)) found.push(await thing('scratch', path, null))
    else if (THINGS.lock.test(name) && (await isStaleLock(path))) {
      found.push(await thing('lock', path, null))
    }
  }
  return found
}

async function findStates(
  dataDir: string,
  { drivers, envs, signal, log }: FindOptions,
): Promise<FoundThing[]> {
  const found = new Map<string, FoundThing>()
  for (const place of statePlaces(dataDir, envs)) {
    for (const driver of Object.values(drivers)) {
      signal.throwIfAborted()
      try {
        for (const each of (await driver.state?.list(place)) ?? []) {
          const { path, bytes, ageMs, conversation: owner, ran } = each
          // All conversations of a runtime may be in one file.
          const name = `${path}\n${owner}`
          found.set(name, { kind: 'state', path, bytes, ageMs, owner, place: ran })
        }
      } catch (error) {
        const { message } = refusalOf(error, `looking at what ${driver.runtime} keeps`)
        log?.('warn', `what ${driver.runtime} keeps could not be looked at`, { why: message })
      }
    }
  }
  return [...found.values()]
}

/** Where runtimes keep what ran in the workspaces: where the environment says so, another place for each. */
export function statePlaces(dataDir: string, envs: readonly Environment[]): RuntimePlace[] {
  const marker = housekeepingMarker(dataDir)
  return envs.map((env) => ({
    cwd: join(dataDir, WORKSPACES_FOLDER),
    env: { ...env },
    executable: null,
    marker,
    scratchDir: join(dataDir, 'scratch'),
  }))
}

async function thing(kind: LeftoverKind, path: string, owner: string | null): Promise<FoundThing> {
  const { mtimeMs } = await lstat(path)
  const ageMs = Date.now() - mtimeMs
  return { kind, path, bytes: await sizeOf(path), ageMs, owner, place: null }
}

async function foldersIn(parent: string): Promise<string[]> {
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

/** In bytes. What vanishes meanwhile counts for nothing. */
async function sizeOf(path: string): Promise<number> {
  const info = await lstat(path).catch(() => null)
  if (info === null) return 0
  if (!info.isDirectory()) return info.size
  let bytes = 0
  for (const name of await readdir(path).catch(() => [])) bytes += await sizeOf(join(path, name))
  return bytes
}
