import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type KeptFile, ParkedWork } from '../../src-shared/parking.ts'
import { lastingFaults, namesIn, reading } from '../blows/machine.ts'
import type { GitRemote } from '../support/git-remote.ts'

/** How long what is not needed any more may take to be gone. */
const GOING_MS = 10_000

type Row = {
  readonly id: string
  readonly ticket: string
  readonly state: string
  readonly branch: string
  readonly turn: number
  /** The runtime has recorded something of the conversation. */
  readonly recorded: boolean
  /** Inputs of which nobody knows what became of them. */
  readonly unknown: number
  readonly workspace: string | null
  readonly parked: { readonly restored: boolean; readonly work: ParkedWork } | null
}

/** What is kept of parked sessions against what their rows say; waits for what is about to go. */
export async function keptFaults(
  dataDir: string,
  remote: GitRemote,
  limitMs = GOING_MS,
): Promise<string[]> {
  return lastingFaults(async () => {
    const rows = rowsIn(dataDir)
    return [
      ...(await fileFaults(dataDir, rows)),
      ...(await Promise.all(rows.map((row) => parkedFaults(row, remote)))).flat(),
    ]
  }, limitMs)
}

function rowsIn(dataDir: string): Row[] {
  return reading(dataDir, (db) =>
    db
      .prepare<[], Record<string, string | number | null>>(
        `SELECT session.id, ticket.key AS ticket, state, branch, turn, recorded, workspace, parked,
           (SELECT count(*) FROM input WHERE session_id = session.id AND input.state = 'unknown') AS unknown
         FROM session JOIN ticket ON ticket.id = session.ticket_id`,
      )
      .all()
      .map(({ id, ticket, state, branch, turn, recorded, unknown, workspace, parked }) => ({
        id: String(id),
        ticket: String(ticket),
        state: String(state),
        branch: String(branch),
        turn: Number(turn),
        recorded: recorded === 1,
        unknown: Number(unknown),
        workspace: workspace === null || workspace === undefined ? null : String(workspace),
        parked: typeof parked === 'string' ? keptIn(parked) : null,
      })),
  )
}

function keptIn(text: string): Row['parked'] {
  const { restored, work }: Record<string, unknown> = JSON.parse(text)
  return { restored: restored === true, work: ParkedWork.parse(work) }
}

/** Every file that a row names is there, byte for byte, and nothing else is. */
async function fileFaults(dataDir: string, rows: readonly Row[]): Promise<string[]> {
  const faults: string[] = []
  const root = join(dataDir, 'kept')
  for (const { id, ticket, state, parked } of rows) {
    const files = parked?.work.files ?? []
    const there = new Set(await namesIn(join(root, id)))
    for (const file of files) {
      if (!there.delete(file.name)) faults.push(`${ticket} (${state}) lost its ${file.kind}`)
      else faults.push(...(await sumFaults(join(root, id, file.name), file, ticket)))
    }
    // What parks is told when all of it is kept.
    if (state === 'parking') continue
    for (const name of there) faults.push(`kept of ${ticket} (${state}) by no row: ${name}`)
  }
  const known = new Set(rows.map(({ id }) => id))
  for (const name of await namesIn(root)) {
    if (!known.has(name)) faults.push(`kept of no session: ${name}`)
  }
  return faults
}

async function sumFaults(path: string, { kind, sha256 }: KeptFile, ticket: string) {
  const sum = createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
  return sum === sha256 ? [] : [`the ${kind} of ${ticket} is not what was kept`]
}

/** One that is kept only can come back: its commit is on the remote or in a bundle, its conversation is kept. */
async function parkedFaults(row: Row, remote: GitRemote): Promise<string[]> {
  const { ticket, state, branch, workspace, parked, turn, recorded, unknown } = row
  if (state !== 'parked' || parked === null || parked.restored) return []
  const { work } = parked
  const faults: string[] = []
  const has = (kind: KeptFile['kind']) => work.files.some((file) => file.kind === kind)
  if (workspace !== null) faults.push(`${ticket} is parked, and its workspace is ${workspace}`)
  // A turn that was cut before its runtime had recorded anything of it left nothing to keep: its message goes again.
  if ((recorded || unknown > 0) && !has('state'))
    faults.push(`${ticket} is parked after ${turn} turns without state`)
  const { commit } = work
  if (commit === null || has('archive')) return faults
  const isOn = async (name: string) =>
    (await remote.branches()).includes(name) &&
    (await remote.log(name)).some(({ hash }) => hash === commit)
  // A session without commits of its own stands where the branch of the project does, and needs neither.
  if (await isOn('main')) return faults
  if (!work.pushed) {
    return has('bundle') ? faults : [...faults, `${ticket} is not pushed and has no bundle`]
  }
  return (await isOn(branch)) ? faults : [...faults, `${ticket}: ${commit} is not on ${branch}`]
}
