import type { Project, Ticket, TicketStatus } from '../../../src-shared/records.ts'
import type { SessionSketch } from '../../sync/records.ts'

/** One line of the sidebar. `session`: the newest of the ticket. */
export type Line =
  | { line: 'project'; key: string; project: string; name: string; count: number; folded: boolean }
  | { line: 'group'; key: string; status: TicketStatus; count: number; folded: boolean }
  | { line: 'ticket'; key: string; ticket: string; session: string | undefined }

/** What needs a person comes first, what is over last. */
const order: readonly TicketStatus[] = [
  'Waiting for answer',
  'In progress',
  'Review',
  'Ready',
  'Backlog',
  'Done',
  'Cancelled',
]
/** Folded unless a person opened them. */
const overStatuses: ReadonlySet<TicketStatus> = new Set(['Done', 'Cancelled'])

const numberOf = (key: string) => Number(key.slice(key.lastIndexOf('-') + 1))

/** `toggled` names what a person folded, or opened where it is folded by itself. */
export function sidebarLines(
  projects: ReadonlyMap<string, Project>,
  tickets: ReadonlyMap<string, Ticket>,
  sketches: ReadonlyMap<string, SessionSketch>,
  toggled: ReadonlySet<string>,
): Line[] {
  const newest = new Map<string, SessionSketch>()
  for (const sketch of sketches.values()) {
    const known = newest.get(sketch.ticketId)
    if (known === undefined || sketch.createdAt > known.createdAt)
      newest.set(sketch.ticketId, sketch)
  }
  const byProject = new Map<string, Map<TicketStatus, Ticket[]>>()
  for (const ticket of tickets.values()) {
    let groups = byProject.get(ticket.projectId)
    if (groups === undefined) {
      groups = new Map()
      byProject.set(ticket.projectId, groups)
    }
    const group = groups.get(ticket.status)
    if (group === undefined) groups.set(ticket.status, [ticket])
    else group.push(ticket)
  }
  const lines: Line[] = []
  const sorted = [...projects.values()].sort((a, b) => a.name.localeCompare(b.name))
  for (const { id, name } of sorted) {
    const groups = byProject.get(id)
    const count = [...(groups?.values() ?? [])].reduce((sum, group) => sum + group.length, 0)
    const projectFolded = toggled.has(id)
    lines.push({ line: 'project', key: id, project: id, name, count, folded: projectFolded })
    if (projectFolded) continue
    for (const status of order) {
      const group = groups?.get(status)
      if (group === undefined) continue
      const key = `${id}/${status}`
      const folded = overStatuses.has(status) !== toggled.has(key)
      lines.push({ line: 'group', key, status, count: group.length, folded })
      if (folded) continue
      group.sort((a, b) => a.priority - b.priority || numberOf(b.key) - numberOf(a.key))
      for (const { id: ticket } of group) {
        lines.push({ line: 'ticket', key: ticket, ticket, session: newest.get(ticket)?.id })
      }
    }
  }
  return lines
}
