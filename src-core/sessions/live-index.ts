import type { SessionState } from '../../src-shared/records.ts'
import type { Committed } from '../commit/committer.ts'
import { isFinishedUnheld } from '../decide/finishing.ts'
import { isLive } from '../decide/session-states.ts'
import type { Storage } from '../storage/port.ts'
import type { LeaseRow, ProjectRow, SessionRow } from '../storage/rows.ts'

/** What of the rows is asked for all the time, in memory: live sessions, queued inputs, open requests and questions, leases to reap, projects. */
export class LiveIndex {
  readonly #sessions = new Map<string, SessionRow>()
  readonly #queued = new Map<string, Set<string>>()
  readonly #requests = new Map<string, Set<string>>()
  readonly #questions = new Map<string, Set<string>>()
  readonly #unreaped = new Map<string, LeaseRow>()
  readonly #projects = new Map<string, ProjectRow>()

  async load(storage: Storage): Promise<void> {
    for (const row of await storage.rows({ table: 'project' })) this.#projects.set(row.id, row)
    const live = await storage.rows({
      table: 'session',
      where: { state: ['queued', 'starting', 'working', 'waiting', 'parking', 'resuming'] },
    })
    for (const row of live) this.#sessions.set(row.id, row)
    for (const row of await storage.rows({ table: 'input', where: { state: 'queued' } })) {
      setOf(this.#queued, row.sessionId).add(row.id)
    }
    for (const row of await storage.rows({ table: 'request', where: { state: 'open' } })) {
      setOf(this.#requests, row.sessionId).add(row.id)
    }
    for (const row of await storage.rows({ table: 'question', where: { state: 'open' } })) {
      setOf(this.#questions, row.sessionId).add(row.id)
    }
    for (const row of await storage.rows({ table: 'lease', where: { reaped: false } })) {
      if (row.endedAt !== null) this.#unreaped.set(row.id, row)
    }
  }

  committed({ rows, deletes }: Committed): void {
    for (const each of rows) {
      switch (each.table) {
        case 'project':
          this.#projects.set(each.row.id, each.row)
          break
        case 'session':
          if (isLive(each.row.state)) this.#sessions.set(each.row.id, each.row)
          else this.#sessions.delete(each.row.id)
          break
        case 'input':
          if (each.row.state === 'queued') setOf(this.#queued, each.row.sessionId).add(each.row.id)
          else this.#queued.get(each.row.sessionId)?.delete(each.row.id)
          break
        case 'request':
          if (each.row.state === 'open') setOf(this.#requests, each.row.sessionId).add(each.row.id)
          else this.#requests.get(each.row.sessionId)?.delete(each.row.id)
          break
        case 'question':
          if (each.row.state === 'open') setOf(this.#questions, each.row.sessionId).add(each.row.id)
          else this.#questions.get(each.row.sessionId)?.delete(each.row.id)
          break
        case 'lease':
          if (each.row.endedAt !== null && !each.row.reaped) {
            this.#unreaped.set(each.row.id, each.row)
          } else this.#unreaped.delete(each.row.id)
          break
        case 'ticket':
        case 'assumption':
          break
      }
    }
    for (const { table, id } of deletes) {
      if (table === 'project') this.#projects.delete(id)
      if (table !== 'session') continue
      this.#sessions.delete(id)
      this.#queued.delete(id)
      this.#requests.delete(id)
      this.#questions.delete(id)
      for (const lease of this.#unreaped.values()) {
        if (lease.sessionId === id) this.#unreaped.delete(lease.id)
      }
    }
  }

  /** Oldest first. */
  get projects(): readonly ProjectRow[] {
    return [...this.#projects.values()]
  }

  project(id: string): ProjectRow | undefined {
    return this.#projects.get(id)
  }

  queuedInputs(session: string): number {
    return this.#queued.get(session)?.size ?? 0
  }

  openRequests(session: string): number {
    return this.#requests.get(session)?.size ?? 0
  }

  openQuestions(session: string): number {
    return this.#questions.get(session)?.size ?? 0
  }

  /** Ended leases whose processes may still be there. */
  get unreaped(): readonly LeaseRow[] {
    return [...this.#unreaped.values()]
  }

  hasOpenRequest(session: string): boolean {
    return (this.#requests.get(session)?.size ?? 0) > 0
  }

  /** Sessions that wait for an agent and could get one at once. */
  get waiting(): readonly SessionRow[] {
    const blocked = new Set(this.unreaped.map((lease) => lease.sessionId))
    return [...this.#sessions.values()].filter(
      (session) =>
        session.leaseId === null &&
        waitStates.has(session.state) &&
        !isFinishedUnheld(session) &&
        !blocked.has(session.id),
    )
  }

  session(id: string): SessionRow | undefined {
    return this.#sessions.get(id)
  }

  get sessions(): readonly SessionRow[] {
    return [...this.#sessions.values()]
  }

  /** How many sessions of each project hold an agent. */
  get held(): ReadonlyMap<string, number> {
    const held = new Map<string, number>()
    for (const { projectId, leaseId } of this.#sessions.values()) {
      if (leaseId !== null) held.set(projectId, (held.get(projectId) ?? 0) + 1)
    }
    return held
  }
}

/** In these a session without an agent is to get one. */
const waitStates: ReadonlySet<SessionState> = new Set(['queued', 'resuming', 'parking'])

function setOf(sets: Map<string, Set<string>>, session: string): Set<string> {
  const existing = sets.get(session)
  if (existing !== undefined) return existing
  const made = new Set<string>()
  sets.set(session, made)
  return made
}
