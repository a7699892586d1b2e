import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { BlobText } from '../../src-shared/agent-wire.ts'
import type { SessionId } from '../../src-shared/ids.ts'
import type { KeptFile } from '../../src-shared/parking.ts'
import { accept, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import { RuntimeName } from '../../src-shared/runtimes.ts'
import { TimelineEvent } from '../../src-shared/timeline.ts'
import type { Reader } from '../commit/committer.ts'
import { changeOf } from '../decide/change.ts'
import { withConversation } from '../decide/continue-with.ts'
import { joinReasons } from '../decide/joined-reasons.ts'
import { parkedReason } from '../decide/kept-work.ts'
import { checkRuntimeName } from '../decide/known-runtimes.ts'
import { runtimesProbe } from '../host/examine.ts'
import { MOVE_MS, RUNTIMES_PROBE_MS } from '../limits.ts'
import type { RowDelete } from '../storage/port.ts'
import type { ProjectRow, SessionRow, StoredRow } from '../storage/rows.ts'
import { blobsIn, type MovingParts } from './export-session.ts'
import { EXPORT_FILES, EXPORT_VERSION, ExportedRows } from './exported.ts'
import { importedRows } from './imported-rows.ts'

export type Import = {
  file: string
  passphrase: string
  /** Finds its project, by the remote that it names or as the person said. */
  findProject(read: Reader, repo: string): Promise<Result<ProjectRow>>
}

/** Of one commit: events, and characters of their blobs. */
const CHUNK = { events: 500, text: 4_000_000 }

/** Those that come in right now. */
const coming = new Set<SessionId>()

/** Brings a session in that was exported, parked as it was. What is not whole stays `moved`, and can be imported again. */
export async function importSession(parts: MovingParts, given: Import): Promise<Result<SessionId>> {
  const { ports, fleet } = parts
  const folder = join(ports.paths.dataDir, 'scratch', `import-${randomBytes(6).toString('hex')}`)
  try {
    const unpacked = await fleet.ask(
      {
        kind: 'session.unpack',
        ...{ file: given.file, passphrase: given.passphrase, folder, key: await ports.key() },
      },
      MOVE_MS,
    )
    if (!unpacked.ok) return unpacked
    const rows = await readRows(folder, given.file)
    if (!rows.ok) return rows
    const id = rows.value.session.id
    if (coming.has(id)) return alreadyComing()
    coming.add(id)
    try {
      return await bringIn(parts, given, { folder, rows: rows.value, files: unpacked.value.files })
    } finally {
      coming.delete(id)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Unpacked = { folder: string; rows: ExportedRows; files: readonly KeptFile[] }

async function bringIn(
  parts: MovingParts,
  given: Import,
  unpacked: Unpacked,
): Promise<Result<SessionId>> {
  const { ports } = parts
  const id = unpacked.rows.session.id
  const place = await placeOf(parts, given, unpacked.rows)
  if (!place.ok) return place
  const earlier = place.value?.parked?.work.files ?? []
  await takeKept(unpacked, ports.paths.kept(id))
  const begun = await begin(parts, given, unpacked)
  if (!begun.ok) return begun
  await appendTimeline(parts, unpacked)
  const lacks = await lackOf(parts, unpacked.rows.session)
  const done = await settle(parts, unpacked.rows, given.file, lacks)
  if (!done.ok) return done
  const names = new Set(unpacked.files.map(({ name }) => name))
  const others = earlier.flatMap(({ name }) => (names.has(name) ? [] : [name]))
  if (others.length > 0) await ports.kept.remove(id, others)
  return accept(id)
}

/** Decoded at the edge, although only who knows the passphrase could have written it. */
async function readRows(folder: string, file: string): Promise<Result<ExportedRows>> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(join(folder, EXPORT_FILES.rows), 'utf8'))
  } catch {
    return notExported(file, 'it has no rows that can be read')
  }
  const version = z.looseObject({ version: z.int() }).safeParse(value).data?.version
  if (version !== undefined && version > EXPORT_VERSION) {
    return refuse(
      'export.newer',
      `${file} has version ${version} of its rows; this Ballet knows ${EXPORT_VERSION}.`,
      'A newer Ballet wrote it. Update Ballet on this machine, then import again.',
    )
  }
  const runtime = z
    .looseObject({ session: z.looseObject({ runtime: z.string() }) })
    .safeParse(value)
  const name = runtime.data?.session.runtime
  if (name !== undefined && !RuntimeName.safeParse(name).success) {
    return refuse(
      'export.runtime-unknown',
      `The session in ${file} runs with ${JSON.stringify(name)}, which this Ballet cannot drive.`,
      'A newer Ballet may have written it: update Ballet on this machine, then import again.',
    )
  }
  const rows = ExportedRows.safeParse(value)
  return rows.success ? accept(rows.data) : notExported(file, z.prettifyError(rows.error))
}

function notExported(file: string, why: string): Result<never> {
  return refuse(
    'export.corrupt',
    `${file} is not what this Ballet exports: ${why}.`,
    'Export the session again, with this version of Ballet.',
  )
}

/** Refused where it is here already; the session that was moved away from here, when it comes back. */
async function placeOf(
  { ports, committer }: MovingParts,
  given: Import,
  { session, ticket, repo }: ExportedRows,
): Promise<Result<StoredRow<'session'> | undefined>> {
  const project = await given.findProject(committer.cache as Reader, repo)
  if (!project.ok) return project
  const existing = await ports.storage.row('session', session.id)
  if (existing !== undefined && existing.state !== 'moved') {
    const key = (await ports.storage.row('ticket', existing.ticketId))?.key ?? ticket.key
    return refuse(
      'session.exists',
      `The session is here already: ${key}, ${existing.state}.`,
      `Go on with it here: ballet session show ${key}`,
    )
  }
  return accept(existing)
}

/** Into the session's folder; what is there under the same name is the same. */
async function takeKept({ folder, files }: Unpacked, keptDir: string): Promise<void> {
  await mkdir(keptDir, { recursive: true, mode: 0o700 })
  for (const { name } of files) await rename(join(folder, 'sealed', name), join(keptDir, name))
}

/** Its rows, in a state in which nothing begins with it; those of the session that was moved away go in the same commit. */
async function begin(
  { ports, committer }: MovingParts,
  given: Import,
  { rows, files }: Unpacked,
): Promise<Result<null>> {
  const id = rows.session.id
  return committer.transact<null>(async (read, now) => {
    const project = await given.findProject(read, rows.repo)
    if (!project.ok) return project
    const before = await read.row('session', id)
    if (before !== undefined && before.state !== 'moved') return alreadyComing()
    const conversations = before === undefined ? [] : withConversation(before)
    const existing = await read.row('ticket', rows.ticket.id)
    const taken = await read.rows({ table: 'ticket', where: { key: rows.ticket.key } })
    const place = { project: project.value, existing, isTaken: () => taken.length > 0, files }
    const made = importedRows(rows, { ...place, file: given.file, conversations }, now, ports.ids)
    const next = { ...project.value, nextNumber: made.nextNumber }
    const replaced = before === undefined ? [] : await rowsOf(read, id)
    const put = <T extends string, R>(table: T, list: readonly R[]) =>
      list.map((row) => ({ table, row }))
    return accept({
      change: changeOf({
        replaced,
        puts: [
          ...put('project' as const, [next]),
          ...put('ticket' as const, [made.ticket]),
          ...put('session' as const, [made.session]),
          ...put('input' as const, made.inputs),
          ...put('request' as const, made.requests),
          ...put('question' as const, made.questions),
          ...put('assumption' as const, made.assumptions),
        ],
        domain: [{ kind: 'session.added', subject: id, data: { ticket: made.ticket.key } }],
      }),
      answer: null,
    })
  })
}

/** A session and what hangs on it. */
async function rowsOf(read: Reader, id: SessionId): Promise<RowDelete[]> {
  const tables = ['input', 'request', 'question', 'assumption'] as const
  const lists = await Promise.all(
    tables.map(async (table) => {
      const rows = await read.rows({ table, where: { sessionId: id } })
      return rows.map((row) => ({ table, id: row.id }))
    }),
  )
  return [...lists.flat(), { table: 'session', id }]
}

/** In pieces: a long timeline is no one commit. */
async function appendTimeline(
  { committer }: MovingParts,
  { folder, rows }: Unpacked,
): Promise<void> {
  const session = rows.session.id
  let events: TimelineEvent[] = []
  let blobs: BlobText[] = []
  let size = 0
  const store = async () => {
    const append = {
      session,
      events: events.map(({ session: _, seq: __, at, ...body }) => ({ at, body })),
      blobs,
    }
    if (events.length > 0) {
      await committer.transact(async (read) => {
        await read.row('session', session)
        return accept({ change: changeOf({ timeline: [append] }), answer: null })
      })
    }
    events = []
    blobs = []
    size = 0
  }
  const known = new Set<string>()
  const lines = createInterface({
    input: createReadStream(join(folder, EXPORT_FILES.timeline), 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  })
  for await (const line of lines) {
    const event = TimelineEvent.parse(JSON.parse(line))
    events.push(event)
    for (const id of blobsIn(event)) {
      if (known.has(id)) continue
      known.add(id)
      const text = await readBlob(join(folder, EXPORT_FILES.blobs, id))
      if (text === null) continue
      blobs.push({ id, text })
      size += text.length
    }
    if (events.length >= CHUNK.events || size >= CHUNK.text) await store()
  }
  await store()
}

/** Null for one that the host it comes from did not have either. */
async function readBlob(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/** Why its runtime would not start here, so that it is known before somebody answers it; null where it would. */
async function lackOf(
  { ports, fleet }: MovingParts,
  { id, runtime }: Pick<SessionRow, 'id' | 'runtime'>,
): Promise<Refusal | null> {
  const known = checkRuntimeName(runtime, ports.settings.current.acpAgents)
  if (!known.ok) return known.refusal
  const session = await ports.storage.row('session', id)
  const project = session && (await ports.storage.row('project', session.projectId))
  const found = await fleet.ask(
    runtimesProbe(ports.settings.current, { runtime, env: { ...project?.env } }),
    RUNTIMES_PROBE_MS,
  )
  if (!found.ok) {
    ports.log.warn('whether the runtime of an imported session is here is not known', {
      ...found.refusal,
    })
    return null
  }
  const report = found.value.runtimes.find((each) => each.runtime === runtime)
  return report?.problem ?? null
}

/** All of it is here: from now on it can be resumed. Its timeline tells of both ends of the way. */
function settle(
  { committer }: MovingParts,
  { session: { id }, exportedAt }: ExportedRows,
  file: string,
  lacks: Refusal | null,
): Promise<Result<null>> {
  return committer.transact<null>(async (read, now) => {
    const session = await read.row('session', id)
    if (session === undefined || session.parked === null) return alreadyComing()
    const reason = joinReasons(parkedReason(session), `imported from ${file}`, lacks?.message ?? '')
    const row: SessionRow = {
      ...session,
      ...{ state: 'parked', stateSince: now, reason, updatedAt: now },
      hint: [lacks?.hint ?? '', 'Answer it or send a message: any agent goes on with it.']
        .filter((part) => part !== '')
        .join(' '),
    }
    const moves = [
      { at: exportedAt, from: 'parked', to: 'moved', reason: 'exported by another host' },
      { at: now, from: 'moved', to: 'parked', reason },
    ] as const
    const events = moves.map(({ at, ...move }) => ({
      at,
      body: { kind: 'session.state' as const, ...move },
    }))
    const [, { at: _, ...data }] = moves
    return accept({
      change: changeOf({
        puts: [{ table: 'session', row }],
        timeline: [{ session: id, events }],
        domain: [{ kind: 'session.state', subject: id, data }],
      }),
      answer: null,
    })
  })
}

const alreadyComing = (): Result<never> =>
  refuse(
    'session.importing',
    'The session is being imported right now, or was a moment ago.',
    'Look at it with: ballet session list',
  )
