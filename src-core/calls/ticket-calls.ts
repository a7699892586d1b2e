import type { Instant, TicketKey } from '../../src-shared/ids.ts'
import { DeletedTicket } from '../../src-shared/moving.ts'
import { Session, Ticket } from '../../src-shared/records.ts'
import { accept, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import { type Reader, receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import {
  type Change,
  changeOf,
  type Decision,
  joinChanges,
  TICKET_DELETE,
} from '../decide/change.ts'
import { checkNotFinishing } from '../decide/finishing.ts'
import { withdrawQuestions } from '../decide/questions.ts'
import { withdrawRequests } from '../decide/requests.ts'
import { SessionDraft } from '../decide/session-draft.ts'
import { MOVED_HINT } from '../decide/session-states.ts'
import { checkStage } from '../decide/stages.ts'
import {
  addTicket,
  checkTicketDeletion,
  editTicket,
  isTicketOver,
  startTicket,
  ticketBranch,
} from '../decide/tickets.ts'
import { DELETE_MS } from '../limits.ts'
import { loadFacts } from '../sessions/session-facts.ts'
import type { ProjectRow, SessionRow, TicketRow } from '../storage/rows.ts'
import { type CallContext, checkNotDeleting, gone, orGone, sessionAnswer } from './context.ts'
import { newestSession, resolveProject, resolveTicket } from './resolve.ts'

export function ticketCalls(context: CallContext): Calls['tickets'] {
  const { committer, joins, ports } = context
  return {
    add: ({ commandId, project: ref, start, ...addition }) =>
      committer.transact<Ticket>(
        async (read, now) => {
          const project = await resolveProject(read, ref)
          if (!project.ok) return project
          const stage = checkStage(project.value, addition.stage)
          if (!stage.ok) return stage
          const added = addTicket(project.value, addition, now, ports.ids)
          const { ticket } = added.answer
          const started = start
            ? startTicket({ ticket, project: project.value, newest: undefined }, now, ports.ids)
            : null
          const row = started?.answer.ticket ?? ticket
          const answer = orGone('project', joins.ticket(row))
          if (!answer.ok) return answer
          return accept({
            answer: answer.value,
            change: joinChanges(added.change, started?.change ?? null),
          })
        },
        receiptOf('tickets.add', commandId, Ticket),
      ),

    list: async ({ project: ref, status }) => {
      const project = ref === undefined ? undefined : await resolveProject(committer.cache, ref)
      if (project !== undefined && !project.ok) return project
      const rows = await committer.cache.rows({
        table: 'ticket',
        where: {
          ...(project === undefined ? {} : { projectId: project.value.id }),
          ...(status === undefined ? {} : { status }),
        },
      })
      return accept(rows.flatMap((row) => joins.ticket(row) ?? []))
    },

    show: async ({ ref }) => {
      const found = await resolveTicket(committer.cache, ref)
      return found.ok ? orGone('ticket', joins.ticket(found.value)) : found
    },

    edit: ({ ref, commandId, ...change }) =>
      committer.transact<Ticket>(
        async (read, now) => {
          const found = await resolveTicket(read, ref)
          if (!found.ok) return found
          const ticket = found.value
          const free = checkNotDeleting(context, ticket)
          if (!free.ok) return free
          const project = await read.row('project', ticket.projectId)
          if (project === undefined) return gone('project')
          if (change.stage !== undefined && change.stage !== ticket.stage) {
            const stage = checkStage(project, change.stage)
            if (!stage.ok) return stage
          }
          const sessions = await read.rows({ table: 'session', where: { ticketId: ticket.id } })
          const decision = editTicket({ ticket, sessions }, change, now)
          if (!decision.ok) return decision
          const answer = orGone('project', joins.ticket(decision.value.answer))
          if (!answer.ok) return answer
          const isOver = change.status !== undefined && isTicketOver(change.status)
          const withdrawn = isOver ? await withdrawWhatIsOpen(read, ticket, now) : []
          return accept({
            change: joinChanges(decision.value.change, ...withdrawn),
            answer: answer.value,
          })
        },
        receiptOf('tickets.edit', commandId, Ticket),
      ),

    start: ({ ref, commandId }) =>
      committer.transact<Session>(
        async (read, now) => {
          const found = await resolveTicket(read, ref)
          if (!found.ok) return found
          return startStored(context, read, found.value, now)
        },
        receiptOf('tickets.start', commandId, Session),
      ),

    delete: async ({ ref, commandId, remoteBranch, forceBranch }) => {
      const earlier = await committer.earlier(receiptOf('tickets.delete', commandId, DeletedTicket))
      if (earlier !== undefined) return earlier
      const begun = await committer.transact<{ entry: string; key: TicketKey }>(async (read) => {
        const found = await resolveTicket(read, ref)
        if (!found.ok) return found
        const ticket = found.value
        const running = context.outbox.concerns(TICKET_DELETE, 'ticket', ticket.id)
        const { key } = ticket
        if (running !== undefined) {
          return accept({ change: null, answer: { entry: running.id, key } })
        }
        const sessions = await read.rows({ table: 'session', where: { ticketId: ticket.id } })
        const free = checkTicketDeletion({ ticket, sessions })
        if (!free.ok) return free
        const named = checkBranchName(forceBranch, ticket, sessions)
        if (!named.ok) return named
        const entry = {
          id: ports.ids.uuid(),
          effect: TICKET_DELETE,
          data: {
            ticket: ticket.id,
            key,
            remoteBranch,
            force: forceBranch !== undefined,
            ...(commandId === undefined ? {} : { command: commandId }),
          },
        }
        return accept({ change: changeOf({ outbox: [entry] }), answer: { entry: entry.id, key } })
      })
      if (!begun.ok) return begun
      const outcome = await context.outbox.outcome(begun.value.entry, DELETE_MS)
      if (outcome === undefined) return gone('ticket')
      if ('late' in outcome) return stillDeleting(begun.value.key, outcome.late)
      return outcome.ok ? accept(DeletedTicket.parse(outcome.value)) : outcome
    },
  }
}

/** Whoever types the name of the branch knows which work is removed. */
function checkBranchName(
  typed: string | undefined,
  ticket: TicketRow,
  sessions: readonly SessionRow[],
): Result<undefined> {
  const branch = sessions[0]?.branch ?? ticketBranch(ticket)
  if (typed === undefined || typed === branch) return accept(undefined)
  return refuse(
    'branch.other-name',
    `${JSON.stringify(typed)} is not the branch of ${ticket.key}.`,
    `Its branch is ${branch}.`,
  )
}

function stillDeleting(key: TicketKey, failure: Refusal | null): Result<never> {
  return refuse(
    'ticket.deleting',
    `The ticket ${key} is still being deleted${failure === null ? '.' : `: ${failure.message}`}`,
    'It goes on by itself, also after a restart; what is wrong tells: ballet doctor',
  )
}

/** Of a ticket that needs no more work, nobody needs to answer what its stopped sessions asked. */
async function withdrawWhatIsOpen(read: Reader, ticket: TicketRow, now: Instant) {
  const changes: Change[] = []
  for (const { id } of await read.rows({ table: 'session', where: { ticketId: ticket.id } })) {
    const facts = await loadFacts(read, id)
    if (facts === undefined) continue
    const draft = new SessionDraft(facts, now)
    withdrawRequests(draft, draft.openRequests, 'its ticket was closed')
    withdrawQuestions(draft, draft.questions, 'its ticket was closed')
    changes.push(draft.change())
  }
  return changes
}

async function startStored(
  context: CallContext,
  read: Reader,
  ticket: TicketRow,
  now: Instant,
): Promise<Result<Decision<Session>>> {
  const free = checkNotDeleting(context, ticket)
  if (!free.ok) return free
  const project = await read.row('project', ticket.projectId)
  if (project === undefined) return gone('project')
  const newest = await newestSession(read, ticket.id)
  const facts = newest && (await loadFacts(read, newest.id))
  if (facts !== undefined) {
    const whole = checkNotFinishing(facts, 'Start the ticket again when it is finished.')
    if (!whole.ok) return whole
    if (facts.session.state === 'moved') {
      return refuse('session.moved', `The session of ${ticket.key} was moved.`, MOVED_HINT)
    }
  }
  const decision = startTicket({ ticket, project, newest: facts }, now, context.ports.ids)
  return sessionAnswer(context, decision.answer, decision.change)
}

/** Adds a ticket and gives it to an agent, in one change. */
export async function addAndStart(
  context: CallContext,
  project: ProjectRow,
  addition: { title: string; body: string },
  now: Instant,
): Promise<Result<Decision<Session>>> {
  const { ids } = context.ports
  const added = addTicket(project, { ...addition, priority: 3, stage: 'implement' }, now, ids)
  const started = startTicket({ ticket: added.answer.ticket, project, newest: undefined }, now, ids)
  return sessionAnswer(context, started.answer, joinChanges(added.change, started.change))
}
