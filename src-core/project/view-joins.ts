import type { Assumption, Question } from '../../src-shared/questions.ts'
import type { Input, Project, Request, Session, Ticket } from '../../src-shared/records.ts'
import type { RowCache } from '../commit/row-cache.ts'
import { isTicketOver } from '../decide/tickets.ts'
import type { LiveIndex } from '../sessions/live-index.ts'
import type {
  AssumptionRow,
  InputRow,
  ProjectRow,
  QuestionRow,
  RequestRow,
  SessionRow,
  StoredRow,
  TicketRow,
} from '../storage/rows.ts'
import {
  type SessionJoin,
  viewAssumption,
  viewInput,
  viewProject,
  viewQuestion,
  viewRequest,
  viewSession,
  viewTicket,
} from './views.ts'

/** Views of rows with what they say of other rows: a session's ticket, a ticket's project. */
export class ViewJoins {
  readonly #cache: RowCache
  readonly #index: LiveIndex

  constructor(cache: RowCache, index: LiveIndex) {
    this.#cache = cache
    this.#index = index
  }

  project(row: ProjectRow): Project {
    return viewProject(row)
  }

  /** Undefined when the project is gone meanwhile. */
  ticket(row: TicketRow): Ticket | undefined {
    const project = this.#index.project(row.projectId)
    return project && viewTicket(row, project.name)
  }

  /** Undefined when the ticket or its project is gone meanwhile. */
  async session(row: StoredRow<'session'>): Promise<Session | undefined> {
    const ticket = await this.#cache.row('ticket', row.ticketId)
    return ticket && this.storedSession(row, ticket)
  }

  storedSession(row: StoredRow<'session'>, ticket: TicketRow): Session | undefined {
    return this.sessionOf(row, ticket, row.lastSeq, {
      queuedInputs: this.#index.queuedInputs(row.id),
      openRequests: this.#index.openRequests(row.id),
      openQuestions: this.#index.openQuestions(row.id),
    })
  }

  /** A session whose ticket is at hand, also before they are stored. */
  sessionOf(
    row: SessionRow,
    ticket: Pick<TicketRow, 'key' | 'title' | 'status'>,
    lastSeq: number,
    counts: Pick<SessionJoin, 'queuedInputs' | 'openRequests' | 'openQuestions'>,
  ): Session | undefined {
    const project = this.#index.project(row.projectId)
    if (project === undefined) return undefined
    return viewSession(row, {
      ticketKey: ticket.key,
      title: ticket.title,
      ticketOver: isTicketOver(ticket.status),
      projectName: project.name,
      ...counts,
      lastSeq,
    })
  }

  /** Undefined when its session is gone meanwhile. */
  async request(row: RequestRow): Promise<Request | undefined> {
    const session = await this.#cache.row('session', row.sessionId)
    const ticket = session && (await this.#cache.row('ticket', session.ticketId))
    return session && ticket && this.requestOf(row, ticket)
  }

  /** A request whose ticket is at hand, also before it is stored. */
  requestOf(row: RequestRow, ticket: TicketRow): Request | undefined {
    const project = this.#index.project(ticket.projectId)
    return project && viewRequest(row, { ticketKey: ticket.key, projectName: project.name })
  }

  /** Undefined when its ticket is gone meanwhile. */
  async question(row: QuestionRow): Promise<Question | undefined> {
    const ticket = await this.#cache.row('ticket', row.ticketId)
    return ticket && this.questionOf(row, ticket)
  }

  /** A question whose ticket is at hand, also before it is stored. */
  questionOf(row: QuestionRow, ticket: TicketRow): Question | undefined {
    const project = this.#index.project(ticket.projectId)
    return project && viewQuestion(row, { ticketKey: ticket.key, projectName: project.name })
  }

  /** Undefined when its ticket is gone meanwhile. */
  async assumption(row: AssumptionRow): Promise<Assumption | undefined> {
    const ticket = await this.#cache.row('ticket', row.ticketId)
    return ticket && this.assumptionOf(row, ticket)
  }

  /** An assumption whose ticket is at hand, also before it is stored. */
  assumptionOf(row: AssumptionRow, ticket: TicketRow): Assumption | undefined {
    const project = this.#index.project(ticket.projectId)
    return project && viewAssumption(row, { ticketKey: ticket.key, projectName: project.name })
  }

  input(row: InputRow): Input {
    return viewInput(row)
  }
}
