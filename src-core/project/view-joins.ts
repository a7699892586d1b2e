import type { Input, Project, Session, Ticket } from '../../src-shared/records.ts'
import type { RowCache } from '../commit/row-cache.ts'
import type { LiveIndex } from '../sessions/live-index.ts'
import type { InputRow, ProjectRow, SessionRow, StoredRow, TicketRow } from '../storage/rows.ts'
import { viewInput, viewProject, viewSession, viewTicket } from './views.ts'

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
    return this.sessionOf(row, ticket, row.lastSeq, this.#index.queuedInputs(row.id))
  }

  /** A session whose ticket is at hand, also before they are stored. */
  sessionOf(
    row: SessionRow,
    ticket: Pick<TicketRow, 'key' | 'title'>,
    lastSeq: number,
    queuedInputs: number,
  ): Session | undefined {
    const project = this.#index.project(row.projectId)
    if (project === undefined) return undefined
    return viewSession(row, {
      ticketKey: ticket.key,
      title: ticket.title,
      projectName: project.name,
      queuedInputs,
      lastSeq,
    })
  }

  input(row: InputRow): Input {
    return viewInput(row)
  }
}
