import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { z } from 'zod'
import { BalletError } from '../../../src-shared/refusal.ts'
import { endTree, MARK_VARIABLE, markOf } from '../../process-tree/index.ts'
import type { KeptConversation, RuntimePlace, StateFile } from '../driver.ts'
import { START_KILLED } from '../failures.ts'
import { SecretMask } from '../mask-secrets.ts'
import { type BriefRun, runBriefly } from '../run-briefly.ts'
import { isNotFound } from './client.ts'
import { ConversationApi } from './conversation-api.ts'
import { findOpencode } from './find.ts'
import { BARE_CONFIG, bareEnvironment, launchEnvironment } from './launch.ts'
import { databaseFile, isThere } from './places.ts'
import { startServer } from './server.ts'
import { SessionInfo } from './wire.ts'

/**
 * How opencode's conversations are moved, measured: all are in one database, which a copy cannot take along. What
 * `opencode export` writes, `{info, messages}`, is what the server gives of a session, and `opencode import` takes it in
 * for the folder that it runs in. The sessions of subagents are conversations of their own. The todo list is not among
 * it, but the call that made it is.
 */
const IMPORT_LIMIT_MS = 120_000
const LIST_PAGE = 200
const LIST_PAGES = 50

/** Rejects with `state.missing` when the runtime has no record of the conversation. */
export async function captureState(
  conversation: string,
  place: RuntimePlace,
): Promise<StateFile[]> {
  const id = mustBeId(conversation)
  const missing = new BalletError({
    code: 'state.missing',
    message: `opencode has no record of the conversation ${id}.`,
    hint: 'It never got a message, or its record was removed. The session goes on in a new conversation.',
  })
  if (!(await isThere(databaseFile(place.env)))) throw missing
  return withServer(place, async (api) => {
    if ((await api.session(id)) === null) throw missing
    const files: StateFile[] = []
    for (const [session, name] of await withDescendants(api, id)) {
      const path = join(place.scratchDir, 'captured', name)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeFile(path, await exported(api, session), { mode: 0o600 })
      files.push({ path, name })
    }
    return files
  })
}

/** The conversation first, then those of its subagents; with their names in an archive. */
async function withDescendants(api: ConversationApi, id: string): Promise<Map<string, string>> {
  const found = new Map([[id, `${id}.json`]])
  for (const session of found.keys()) {
    for (const child of await api.children(session)) {
      if (!found.has(child)) found.set(child, `${id}/${mustBeId(child)}.json`)
    }
  }
  return found
}

async function exported(api: ConversationApi, id: string): Promise<string> {
  const info = await api.client.text({ method: 'GET', path: `/session/${id}` })
  const messages = await api.client.text({
    ...{ method: 'GET', path: `/session/${id}/message`, limitMs: 120_000 },
  })
  return `{"info":${info},"messages":${messages}}`
}

/**
 * Takes the conversation in for `place.cwd`. Another copy that is there is removed first: what has changed in it since
 * would stay as it is.
 */
export async function restoreState(
  conversation: string,
  files: readonly StateFile[],
  place: RuntimePlace,
): Promise<readonly StateFile[]> {
  const id = mustBeId(conversation)
  const isOwn = ({ name }: StateFile) => name === `${id}.json` || name.startsWith(`${id}/`)
  if (!files.every(isOwn) || !files.some(({ name }) => name === `${id}.json`)) {
    throw corrupt(id, 'it is of another conversation')
  }
  const executable = await programOf(place)
  const inOrder = [...files].sort((a, b) => a.name.split('/').length - b.name.split('/').length)
  for (const { path, name } of inOrder) {
    await mustBe(
      path,
      name
        .split('/')
        .at(-1)
        ?.replace(/\.json$/, '') ?? '',
      id,
    )
  }
  if ((await makeWay(id, inOrder, place)) === 'stands') return files
  await inScratch(place, async (scratchDir) => {
    const env = {
      ...launchEnvironment(await bareEnvironment(place.env, scratchDir)),
      [MARK_VARIABLE]: markOf(place.marker),
    }
    for (const { path } of inOrder) {
      const options = { cwd: place.cwd, env, limitMs: IMPORT_LIMIT_MS }
      const run = await runBriefly(executable, ['import', path], options)
      if (run.exitCode !== 0) throw notTaken(id, run)
    }
  })
  return files
}

/**
 * Removes a conversation that ran below a folder, with those of its subagents, which only the program itself can do:
 * where it is not there any more, the database keeps them. Gives how many those were.
 */
export async function removeState(conversation: string, place: RuntimePlace): Promise<number> {
  // Of another runtime.
  if (!ID.test(conversation) || !(await isThere(databaseFile(place.env)))) return 0
  try {
    return await withServer(place, async (api) => {
      const found = await api.session(conversation)
      if (found === null || !(await isBelow(found.directory, place.cwd))) return 0
      const sessions = [...(await withDescendants(api, conversation)).keys()].reverse()
      return removeAll(api, sessions)
    })
  } catch (error) {
    if (!(error instanceof BalletError) || error.code !== 'runtime.not-found') throw error
    place.onLeft?.(
      `The database of opencode keeps the conversation ${conversation}: ${error.message}`,
    )
    return 0
  }
}

/** Removes the copy that the database has, unless it is what is stored, for this very folder: then it stands. */
async function makeWay(
  id: string,
  stored: readonly StateFile[],
  place: RuntimePlace,
): Promise<'free' | 'stands'> {
  if (!(await isThere(databaseFile(place.env)))) return 'free'
  return withServer(place, async (api) => {
    const found = await api.session(id)
    if (found === null) return 'free'
    const all = await withDescendants(api, id)
    const isHere = (await realPath(found.directory)) === (await realPath(place.cwd))
    if (isHere && (await isStored(api, all, stored))) return 'stands'
    await removeAll(api, [...all.keys()].reverse())
    return 'free'
  })
}

async function isStored(
  api: ConversationApi,
  all: ReadonlyMap<string, string>,
  stored: readonly StateFile[],
): Promise<boolean> {
  if (all.size !== stored.length) return false
  for (const [session, name] of all) {
    const path = stored.find((file) => file.name === name)?.path
    if (path === undefined) return false
    if ((await readFile(path, 'utf8')) !== (await exported(api, session))) return false
  }
  return true
}

async function removeAll(api: ConversationApi, sessions: readonly string[]): Promise<number> {
  for (const session of sessions) {
    try {
      await api.client.tell({ method: 'DELETE', path: `/session/${session}` })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
  return sessions.length
}

/** The conversations that ran below the folder. All are in one file, so none has a size of its own. */
export async function listStates(place: RuntimePlace): Promise<KeptConversation[]> {
  const path = databaseFile(place.env)
  if (!(await isThere(path))) return []
  return withServer(place, async (api) => {
    const found: KeptConversation[] = []
    let cursor: number | null = null
    for (let page = 0; page < LIST_PAGES; page += 1) {
      const from: string = cursor === null ? '' : `&cursor=${cursor}`
      const sessions: SessionInfo[] = await api.client.ask(
        { method: 'GET', path: `/experimental/session?roots=true&limit=${LIST_PAGE}${from}` },
        z.array(SessionInfo),
      )
      for (const { id: conversation, directory: ran, time } of sessions) {
        if (!(await isBelow(ran, place.cwd))) continue
        const ageMs = Math.max(0, Date.now() - (time.updated ?? 0))
        found.push({ conversation, path, bytes: 0, ageMs, ran })
      }
      const last = sessions.at(-1)?.time.updated
      if (sessions.length < LIST_PAGE || last === undefined || last === cursor) break
      cursor = last
    }
    return found
  })
}

/** A server for a moment, in a folder of its own, so that nothing of a workspace is read or written. */
async function withServer<T>(
  place: RuntimePlace,
  work: (api: ConversationApi) => Promise<T>,
): Promise<T> {
  const { marker } = place
  return inScratch(place, async (scratchDir) => {
    try {
      const env = await bareEnvironment(place.env, scratchDir)
      const server = await startServer({
        ...{ executable: await programOf(place), cwd: scratchDir, env, marker },
        ...{ mask: new SecretMask(place.env), scratchDir, config: BARE_CONFIG },
      })
      return await work(new ConversationApi(server.client))
    } finally {
      await endTree([marker], { limitMs: 10_000 })
    }
  })
}

/** A folder of this work alone, which goes with it. */
async function inScratch<T>(
  place: RuntimePlace,
  work: (scratchDir: string) => Promise<T>,
): Promise<T> {
  await mkdir(place.scratchDir, { recursive: true, mode: 0o700 })
  const scratchDir = await mkdtemp(join(place.scratchDir, 'opencode-'))
  try {
    return await work(scratchDir)
  } finally {
    await rm(scratchDir, { recursive: true, force: true })
  }
}

async function programOf({ executable, env }: RuntimePlace): Promise<string> {
  if (executable !== null) return executable
  const { path, problem } = await findOpencode({ path: null, env })
  if (path !== null && problem === null) return path
  throw new BalletError(
    problem ?? { code: 'runtime.not-found', message: 'opencode was not found.' },
  )
}

/** The file is an export of this session. Throws `state.corrupt`. */
async function mustBe(path: string, session: string, conversation: string): Promise<void> {
  const Export = z.looseObject({
    info: z.looseObject({ id: z.string() }),
    messages: z.array(z.unknown()),
  })
  try {
    const { info } = Export.parse(JSON.parse(await readFile(path, 'utf8')))
    if (info.id === session) return
  } catch {
    throw corrupt(conversation, `${session}.json is no export of opencode`)
  }
  throw corrupt(conversation, `${session}.json is of another conversation`)
}

/** What the machine, and not what is stored, keeps a program from taking. */
const OF_THE_MACHINE =
  /ENOSPC|no space left|disk is full|database is locked|SQLITE_(BUSY|FULL|IOERR)/i

/** A program that was slow, or that something ended, says nothing of what is stored. */
function notTaken(conversation: string, run: BriefRun): BalletError {
  const said = (run.stderr || run.stdout).trim().slice(-500)
  const isRefused = run.exitCode !== null && !OF_THE_MACHINE.test(said)
  if (isRefused) return corrupt(conversation, said)
  const late = `it did not end within ${IMPORT_LIMIT_MS / 1_000} s`
  const why = run.timedOut ? late : said || 'something ended it'
  return new BalletError({
    code: run.exitCode === null && !run.timedOut ? START_KILLED : 'runtime.start-failed',
    message: `opencode did not take the conversation ${conversation}: ${why}.`,
    hint: 'It is kept as it was stored: resume the session to try again.',
  })
}

function corrupt(conversation: string, why: string): BalletError {
  return new BalletError({
    code: 'state.corrupt',
    message: `The stored state of the conversation ${conversation} cannot be used: ${why}.`,
    hint: 'Resume without it: the session begins a new conversation.',
  })
}

async function isBelow(path: string, folder: string): Promise<boolean> {
  const [inner, outer] = await Promise.all([path, folder].map(realPath))
  return inner?.startsWith(`${outer}${sep}`) === true
}

/** A folder that is gone is where it was. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

const ID = /^ses_[A-Za-z0-9]+$/

/** It becomes part of a path. Throws `state.corrupt`. */
function mustBeId(conversation: string): string {
  if (ID.test(conversation)) return conversation
  throw corrupt(JSON.stringify(conversation), 'that is not the id of a conversation of opencode')
}
