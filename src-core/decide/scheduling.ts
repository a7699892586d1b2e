import { type AgentId, type Instant, LeaseId, type TicketKey } from '../../src-shared/ids.ts'
import type { Ids } from '../ports.ts'
import type { LeaseRow, ProjectRow, SessionRow } from '../storage/rows.ts'
import { type Change, joinChanges } from './change.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { modelFor } from './stages.ts'

/** A session that waits for an agent: queued, or resuming or parking without one. */
export type Waiting = Pick<SessionRow, 'id' | 'projectId' | 'state' | 'queuedAt' | 'createdAt'> & {
  priority: number
}

/** What was interrupted goes before new work; then the ticket's priority, then who waits longest. */
export function compareWaiting(a: Waiting, b: Waiting): number {
  const rank = (session: Waiting) => (session.state === 'queued' ? 1 : 0)
  return (
    rank(a) - rank(b) ||
    a.priority - b.priority ||
    (a.queuedAt ?? a.createdAt).localeCompare(b.queuedAt ?? b.createdAt) ||
    a.id.localeCompare(b.id)
  )
}

export type ScheduleState = {
  waiting: readonly Waiting[]
  idle: readonly AgentId[]
  /** How many sessions of a project hold an agent now. */
  held: ReadonlyMap<string, number>
  projects: ReadonlyMap<string, Pick<ProjectRow, 'maxSessions'>>
}

/** Which session gets which idle agent, by order of the queue and within the limits of their projects. */
export function assign(state: ScheduleState): { session: SessionRow['id']; agent: AgentId }[] {
  const held = new Map(state.held)
  const idle = [...state.idle]
  const grants: { session: SessionRow['id']; agent: AgentId }[] = []
  for (const session of [...state.waiting].sort(compareWaiting)) {
    const limit = state.projects.get(session.projectId)?.maxSessions ?? Number.POSITIVE_INFINITY
    const count = held.get(session.projectId) ?? 0
    if (count >= limit) continue
    const agent = idle.shift()
    if (agent === undefined) break
    held.set(session.projectId, count + 1)
    grants.push({ session: session.id, agent })
  }
  return grants
}

/** What a session that waits for its first agent says of it. */
export type WaitReason = Pick<SessionRow, 'reason' | 'hint'>

/** Why a session of the project gets no agent now; null where it could have one. `held`: of the project's sessions. */
export function whyItWaits(
  { name, maxSessions }: Pick<ProjectRow, 'name' | 'maxSessions'>,
  held: number,
  fleet: { size: number; holding: number; hasIdle: boolean },
): WaitReason | null {
  if (maxSessions !== null && held >= maxSessions) {
    return {
      reason: `waits for an agent: ${held} of at most ${maxSessions} sessions of ${name} hold one`,
      hint: `A session that waits gives its agent back when it parks: park, finish or stop one, or let ${name} have more.`,
    }
  }
  if (fleet.hasIdle) return null
  return {
    reason: `waits for an agent: ${fleet.holding} of ${fleet.size} agents hold sessions`,
    hint: 'A session that waits gives its agent back when it parks: park, finish or stop one, or set more agents.',
  }
}

export type Grant = {
  facts: SessionFacts
  agent: AgentId
  /** The greatest token of the session's leases; 0 when it had none. */
  lastToken: number
  workspace: string
  /** Its settings hold for the session from now on. */
  project: Pick<ProjectRow, 'permission' | 'runtime' | 'model' | 'runtimeArgs' | 'stages'>
}

export type Leased = { lease: LeaseRow; ticket: TicketKey }

/** Gives each session its agent: a lease of its own, whose token fences off all before it. */
export function grantLeases(
  grants: readonly Grant[],
  now: Instant,
  ids: Ids,
): { change: Change; leases: Leased[] } {
  const leases: Leased[] = []
  const changes = grants.map(({ facts, agent, lastToken, workspace, project }) => {
    const lease: LeaseRow = {
      id: LeaseId.parse(ids.uuid()),
      sessionId: facts.session.id,
      agent,
      token: lastToken + 1,
      nonce: ids.nonce(8),
      lastItem: 0,
      grantedAt: now,
      endedAt: null,
      endReason: null,
      reaped: false,
    }
    leases.push({ lease, ticket: facts.ticket.key })
    const draft = new SessionDraft(facts, now)
    draft.lease(lease)
    if (facts.session.state === 'queued') draft.move('starting')
    draft.set({
      leaseId: lease.id,
      agent,
      workspace: facts.session.workspace ?? workspace,
      permission: project.permission,
      model: modelFor(project, facts.session),
    })
    return draft.change()
  })
  return { change: joinChanges(...changes), leases }
}
