import { randomBytes } from 'node:crypto'
import { mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { SessionId } from '../../src-shared/ids.ts'
import { BlobId } from '../../src-shared/ids.ts'
import type { ExportedFile } from '../../src-shared/moving.ts'
import { accept, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Committer } from '../commit/committer.ts'
import { changeOf, joinChanges } from '../decide/change.ts'
import { usableFiles } from '../decide/damaged-files.ts'
import { isKeptOnly } from '../decide/kept-work.ts'
import { moveAway } from '../decide/moving.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { MOVE_MS, NAME_MS, PARK_MS } from '../limits.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { CorePorts } from '../ports.ts'
import { viewRepo } from '../project/views.ts'
import { loadFacts } from '../sessions/session-facts.ts'
import type { SessionWaits } from '../sessions/session-waits.ts'
import { packMarker } from '../sessions/unheld-markers.ts'
import type { Storage } from '../storage/port.ts'
import type { KeptWork, StoredRow } from '../storage/rows.ts'
import { EXPORT_FILES, EXPORT_VERSION, ExportedRows } from './exported.ts'
import { checkIsNew, namingOf, partOf } from './name-export.ts'

export type MovingParts = {
  ports: CorePorts
  committer: Committer
  fleet: Fleet
  waits: SessionWaits
  outbox: Outbox
}

type Session = StoredRow<'session'>

/** Events that are read at once. */
const PAGE = 500

/**
 * Writes a session that is being parked, or is parked, to one file. It becomes `moved` in one change, after the file
 * was read back, and only if nothing happened to it meanwhile; else the file is removed again. The file gets its name
 * only after that: whenever the host ends, what has the name of an export is the only one of its session that goes on.
 */
export async function exportSession(
  parts: MovingParts,
  id: SessionId,
  { file, passphrase }: { file: string; passphrase: string },
): Promise<Result<ExportedFile>> {
  const { ports, committer } = parts
  const session = await parts.waits.until(id, isSettled, PARK_MS)
  const parked = session?.parked ?? null
  if (session === undefined) return gone()
  if (session.state !== 'parked' || parked === null || !isKeptOnly(session)) {
    return notParked(session)
  }
  const folder = join(ports.paths.dataDir, 'scratch', `export-${randomBytes(6).toString('hex')}`)
  const part = partOf(file)
  let isMoved = false
  try {
    const isNew = await checkIsNew(file)
    if (!isNew.ok) return isNew
    const project = await ports.storage.row('project', session.projectId)
    if (project === undefined) return gone()
    await writeFacts(ports, { ...session, parked }, folder)
    const packed = await parts.fleet.ask(
      {
        kind: 'session.pack',
        ...{ folder, file: part, passphrase, key: await ports.key() },
        work: { ...parked.work, files: usableFiles(parked) },
        ...{ keptDir: ports.paths.kept(id), repo: project.repo, baseBranch: project.branch },
        marker: packMarker(session.id),
        ...{ branch: session.branch, mirrorDir: ports.paths.mirror(project.id) },
        env: { ...project.env },
      },
      MOVE_MS,
    )
    if (!packed.ok) return packed
    const isStillNew = await checkIsNew(file)
    if (!isStillNew.ok) return isStillNew
    const naming = namingOf({ session: id, part, file }, ports.ids)
    const moved = await committer.transact<ExportedFile>(async (read, now) => {
      const facts = await loadFacts(read, id)
      if (facts === undefined) return gone()
      const decision = moveAway(facts, { file, lastSeq: session.lastSeq }, now)
      if (!decision.ok) return decision
      const { bytes } = packed.value
      const answer = { session: id, ticketId: facts.ticket.id, file, bytes }
      const named = changeOf({ outbox: [naming] })
      return accept({ change: joinChanges(decision.value.change, named), answer })
    })
    if (!moved.ok) return moved
    isMoved = true
    const named = await parts.outbox.outcome(naming.id, NAME_MS)
    if (named !== undefined && 'late' in named) return notNamedYet({ part, file }, named.late)
    return named?.ok === true
      ? accept({ ...moved.value, file: z.string().parse(named.value) })
      : moved
  } finally {
    if (!isMoved) await removePart(ports, id, part)
    await rm(folder, { recursive: true, force: true })
  }
}

/** What is not the only one of its session goes. That it moved may be stored although storing it failed. */
async function removePart({ storage, log }: CorePorts, id: SessionId, part: string): Promise<void> {
  try {
    const session = await storage.row('session', id)
    if (session?.state !== 'moved') await rm(part, { force: true })
  } catch (error) {
    log.warn('a file of an export that was cut is left', { part, error })
  }
}

function notNamedYet(
  { part, file }: { part: string; file: string },
  failure: Refusal | null,
): Result<never> {
  return refuse(
    'export.not-named',
    failure?.message ?? `The session has moved to ${part}, which is not called ${file} yet.`,
    `It is given its name by itself, also after a restart. ${failure?.hint ?? ''}`.trim(),
  )
}

/** Nothing holds it any more, and nothing is under way that could. */
function isSettled({ state, leaseId, workspace }: Session): boolean {
  if (state === 'parked') return leaseId === null && workspace === null
  return state !== 'parking'
}

async function writeFacts(
  { storage, clock }: CorePorts,
  session: Session & { parked: KeptWork },
  folder: string,
): Promise<void> {
  await mkdir(join(folder, EXPORT_FILES.blobs), { recursive: true, mode: 0o700 })
  const rows = await rowsOf(storage, session, clock.now())
  await writeFile(join(folder, EXPORT_FILES.rows), JSON.stringify(rows), { mode: 0o600 })
  const timeline = await open(join(folder, EXPORT_FILES.timeline), 'wx', 0o600)
  const known = new Set<string>()
  try {
    for (let after = 0; after < session.lastSeq; ) {
      const page = await storage.timeline(session.id, { after, limit: PAGE })
      const events = page.events.filter(({ seq }) => seq <= session.lastSeq)
      if (events.length === 0) break
      await timeline.writeFile(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
      for (const blob of blobsIn(events)) {
        if (known.has(blob)) continue
        known.add(blob)
        const text = await storage.blob(session.id, blob)
        if (text === undefined) continue
        await writeFile(join(folder, EXPORT_FILES.blobs, blob), text, { mode: 0o600 })
      }
      after = events.at(-1)?.seq ?? session.lastSeq
    }
  } finally {
    await timeline.close()
  }
}

async function rowsOf(
  storage: Storage,
  session: Session & { parked: KeptWork },
  now: string,
): Promise<ExportedRows> {
  const sessionId = session.id
  const [ticket, project, inputs, requests, questions, assumptions] = await Promise.all([
    storage.row('ticket', session.ticketId),
    storage.row('project', session.projectId),
    storage.rows({ table: 'input', where: { sessionId } }),
    storage.rows({ table: 'request', where: { sessionId } }),
    storage.rows({ table: 'question', where: { sessionId } }),
    storage.rows({ table: 'assumption', where: { sessionId } }),
  ])
  const { parked, lastSeq } = session
  // What is not of an exported session is not in its schema, and does not leave this host.
  return ExportedRows.parse({
    version: EXPORT_VERSION,
    exportedAt: now,
    repo: viewRepo(project?.repo ?? ''),
    baseBranch: project?.branch,
    projectKey: project?.key,
    ...{ ticket, session, inputs, requests, questions, assumptions, parked, lastSeq },
  })
}

/** Every blob that is named anywhere in a value. */
export function blobsIn(value: unknown): Set<BlobId> {
  const found = new Set<BlobId>()
  const visit = (each: unknown, name: string) => {
    if (typeof each === 'string') {
      const blob = /^blob$|Blob$/.test(name) ? BlobId.safeParse(each).data : undefined
      if (blob !== undefined) found.add(blob)
    } else if (Array.isArray(each)) for (const inner of each) visit(inner, name)
    else if (typeof each === 'object' && each !== null) {
      for (const [key, inner] of Object.entries(each)) visit(inner, key)
    }
  }
  visit(value, '')
  return found
}

function notParked({ state, reason, hint }: Session): Result<never> {
  const why = reason === '' ? `it is ${state}` : `it is ${state}: ${reason}`
  return refuse(
    'session.not-parked',
    `The session could not be parked, and nothing was exported: ${why}.`,
    hint === '' ? 'Export it again when it is quiet.' : hint,
  )
}

const gone = (): Result<never> =>
  refuse('session.not-found', 'The session is gone meanwhile.', 'Look at the list again.')
