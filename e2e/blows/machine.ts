import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { Agent, Session } from '../../src-shared/records.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { GitRemote } from '../support/git-remote.ts'
import {
  descendantsOf,
  listProcesses,
  type ProcessInfo,
  processesWithVariable,
} from '../support/process-tree.ts'
import { ofKind } from '../support/watch.ts'
import type { Workbench } from '../support/workbench.ts'
import type { Life } from './host-under-blows.ts'

/** How long what was ended may take to be gone. */
const GOING_MS = 15_000

type Rows = { readonly sessions: readonly Session[]; readonly agents: readonly Agent[] }

/**
 * What runs and lies on the machine against what the rows say; waits for what is about to go, and for agents to say
 * what they have now.
 */
export async function machineFaults(bench: Workbench, life: Life): Promise<string[]> {
  return lastingFaults(async () => {
    const [sessions, agents] = await Promise.all([
      life.client.sessions.list(),
      life.client.agents.list(),
    ])
    return [
      ...(await processFaults(bench, life, { sessions, agents })),
      ...(await folderFaults(bench, sessions)),
    ]
  }, GOING_MS)
}

/** Looks again until nothing is found, or the limit is reached: what is about to go is no fault. */
export async function lastingFaults(
  find: () => string[] | Promise<string[]>,
  limitMs: number,
): Promise<string[]> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const faults = await find()
    if (faults.length === 0 || performance.now() > deadline) return faults
    await sleep(100)
  }
}

async function processFaults(bench: Workbench, life: Life, rows: Rows): Promise<string[]> {
  const faults: string[] = []
  const [mine, below, all] = await Promise.all([
    bench.processes(),
    descendantsOf(life.pid),
    listProcesses(),
  ])
  const family = new Set([life.pid, ...below.map(({ pid }) => pid)])
  for (const info of mine) {
    if (!family.has(info.pid)) faults.push(`left over: ${shown(info)}`)
    if (/^sleep /u.test(info.command)) faults.push(`a tool still runs: ${shown(info)}`)
  }
  const alive = new Set(all.map(({ pid }) => pid))
  for (const { id, pid, session, runtimePids } of rows.agents) {
    if (pid === null || !alive.has(pid)) faults.push(`${id} says process ${pid}, which is gone`)
    const held = rows.sessions.find((each) => each.id === session)
    const marked = mine.filter(
      ({ parent, command }) => parent === pid && /stream-json/u.test(command),
    )
    // One that ended between turns is started again with the next message.
    const fewest = held?.state === 'waiting' && runtimePids.length === 0 ? 0 : 1
    if (held !== undefined && (marked.length < fewest || marked.length > 1)) {
      faults.push(`${id} holds ${held.ticket} (${held.state}) with ${marked.length} runtimes`)
    }
    if (held === undefined && marked.length > 0) faults.push(`${id} holds nothing and a runtime`)
    for (const runtime of runtimePids) {
      if (!alive.has(runtime)) faults.push(`${id} says runtime ${runtime}, which is gone`)
    }
  }
  for (const session of rows.sessions.filter(({ agent }) => agent === null)) {
    for (const info of await markedWith(session)) {
      faults.push(`${session.ticket} is ${session.state}, and there runs ${shown(info)}`)
    }
  }
  return faults
}

function markedWith({ id }: Session): Promise<ProcessInfo[]> {
  return processesWithVariable('BALLET_SESSION', (mark) => mark.startsWith(`${id}:`))
}

async function folderFaults(bench: Workbench, sessions: readonly Session[]): Promise<string[]> {
  const faults: string[] = []
  const root = join(bench.dataDir, 'workspaces')
  const there = new Set((await namesIn(root)).map((name) => join(root, name)))
  // The row says a workspace before it is made, so that one that is half made is found.
  const unmade = new Set(withoutWorkspace(bench.dataDir))
  for (const { id, ticket, state, workspace } of sessions) {
    if (workspace !== null && !there.has(workspace) && !unmade.has(id)) {
      faults.push(`${ticket} (${state}) says ${workspace}, which is not there`)
    }
  }
  const said = new Set(sessions.map(({ workspace }) => workspace))
  // Half made by an agent that was killed: the next one begins with taking it away.
  for (const { id, state, workspace } of sessions) {
    if (workspace === null || state === 'finished' || !unmade.has(id)) continue
    said.add(join(root, `.new-${basename(workspace)}`))
  }
  for (const path of there) if (!said.has(path)) faults.push(`no session says ${path}`)
  for (const name of await namesIn(join(bench.dataDir, 'spool'))) {
    // A draft of an agent that was killed while it wrote: the next start that finds it old takes it away.
    if (name.endsWith('.new')) continue
    faults.push(`left in the spool: ${name}`)
  }
  const scratch = await namesIn(join(bench.dataDir, 'scratch'))
  const held = sessions.filter(({ agent }) => agent !== null).length
  if (scratch.length > held) faults.push(`${scratch.length} scratch folders for ${held} sessions`)
  return faults
}

/** What a finished session wrote is on its branch, as it was written. */
export async function workFaults(
  remote: GitRemote,
  session: Session,
  events: readonly TimelineEvent[],
): Promise<string[]> {
  const done = new Set(
    ofKind(events, 'tool.result').flatMap(({ callId, status }) =>
      status === 'ok' ? [callId] : [],
    ),
  )
  const written = ofKind(events, 'tool.call').flatMap(({ callId, name, input }) =>
    name === 'Write' && done.has(callId) ? writtenBy(input) : [],
  )
  if (written.length === 0) return []
  const { ticket, branch } = session
  const branches = await remote.branches()
  if (!branches.includes(branch)) return [`${ticket}: ${branch} is not pushed`]
  const faults = written.map(async ({ file, sum }) => {
    const there = await remote.readFile(branch, file)
    if (there === undefined) return [`${ticket}: ${file} is not on ${branch}`]
    return sumOf(there) === sum ? [] : [`${ticket}: ${file} is another one on ${branch}`]
  })
  return (await Promise.all(faults)).flat()
}

/** The files of the rounds that a call writes, with the hash of their content. */
function writtenBy(input: string): { readonly file: string; readonly sum: string }[] {
  const { file_path: path, content }: Record<string, unknown> = JSON.parse(input)
  const file = basename(String(path))
  return file.startsWith('file-') ? [{ file, sum: sumOf(String(content)) }] : []
}

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Its work lies in Core, since it parked: no workspace of it has been made again so far. */
const IS_KEPT_ONLY = "coalesce(json_extract(parked, '$.restored'), 1) = 0"

/**
 * What was asked of sessions and is not done yet; no client sees that. An agent does it, or, of a finish from a
 * workspace, the host; what has to be restored first waits for an agent.
 */
export function pendingIn(dataDir: string): string[] {
  return reading(dataDir, (db) =>
    db
      .prepare<[], { id: string; pending: string }>(
        `SELECT id, pending FROM session WHERE pending IS NOT NULL
          AND (lease_id IS NOT NULL OR (pending = 'finish' AND NOT ${IS_KEPT_ONLY}))`,
      )
      .all()
      .map(({ id, pending }) => `${id} is to ${pending}`),
  )
}

/** The sessions of which no agent told that a workspace is there: neither at their start nor since they parked. */
export function withoutWorkspace(dataDir: string): string[] {
  return reading(dataDir, (db) =>
    db
      .prepare<[], { id: string }>(
        `SELECT id FROM session WHERE base_commit IS NULL OR ${IS_KEPT_ONLY}`,
      )
      .all()
      .map(({ id }) => id),
  )
}

/** The database itself, and rows that no client sees. */
export function databaseFaults(dataDir: string): Promise<string[]> {
  // What an effect could not do is tried again after a pause.
  return lastingFaults(() => faultsInRows(dataDir), GOING_MS)
}

function faultsInRows(dataDir: string): string[] {
  return reading(dataDir, (db) => {
    const count = (from: string) => Number(db.prepare(`SELECT count(*) ${from}`).pluck().get())
    const wrong = {
      'leases go on without a session': `FROM lease LEFT JOIN session ON session.lease_id = lease.id
        WHERE lease.ended_at IS NULL AND session.id IS NULL`,
      'ended leases are not looked after': `FROM lease WHERE ended_at IS NOT NULL AND reaped = 0`,
      'sessions say a lease that has ended': `FROM session LEFT JOIN lease ON lease.id = session.lease_id
        WHERE session.lease_id IS NOT NULL AND (lease.id IS NULL OR lease.ended_at IS NOT NULL)`,
      'effects are still in the outbox': 'FROM outbox',
    }
    const check = db.pragma('integrity_check', { simple: true })
    return [
      ...(check === 'ok' ? [] : [`the database: ${String(check)}`]),
      ...Object.entries(wrong).flatMap(([what, from]) => {
        const found = count(from)
        return found === 0 ? [] : [`${found} ${what}`]
      }),
    ]
  })
}

export function reading<T>(dataDir: string, read: (db: Database.Database) => T): T {
  const db = new Database(join(dataDir, 'ballet.sqlite'), { readonly: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}

export async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

function shown({ pid, command }: ProcessInfo): string {
  return `${pid} ${command.slice(0, 120)}`
}
