import type { FoundThing } from '../../src-shared/moving.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import type { LeaseRow, ProjectRow, QuestionRow, SessionRow } from '../storage/rows.ts'
import { withConversation } from './continue-with.ts'
import { isOver } from './session-states.ts'

/** What runs on the way of a probe is over by then. */
const ON_THE_WAY_MS = 2 * 3_600_000

export type Known = {
  projects: readonly Pick<ProjectRow, 'id'>[]
  sessions: readonly SessionRow[]
  /** Those that are not ended, or not reaped. */
  leases: readonly Pick<LeaseRow, 'nonce'>[]
  /** Those that the planner tries, or tried and may still run for. */
  planned: readonly Pick<QuestionRow, 'nonce'>[]
  /** Where the workspaces of the sessions are, or would be. */
  workspaces: ReadonlySet<string>
}

/**
 * Why nothing needs a found thing any more, for people; null where something may. The rows have to be read after the
 * things were found: whatever is made belongs to a row that was there before.
 */
export function whyLeftOver(thing: FoundThing, known: Known): string | null {
  const session = known.sessions.find(({ id }) => id === thing.owner)
  switch (thing.kind) {
    case 'workspace':
      if (session === undefined) return 'its session is gone'
      if (session.workspace !== null || session.leaseId !== null) return null
      return isOver(session.state) ? `its session is ${session.state}` : null
    case 'kept':
      return whyKeptLeftOver(thing, session)
    case 'scratch':
      return whyScratchLeftOver(thing, known)
    case 'mirror':
      if (known.projects.some(({ id }) => id === thing.owner)) return null
      return 'its project is gone'
    case 'lock':
      return 'the process that held it is dead'
    case 'state':
      if (known.sessions.some((each) => hasConversation(each, thing.owner))) return null
      // A session that began anew there may want to look at what it had.
      if (thing.place === null || known.workspaces.has(thing.place)) return null
      return 'its session is gone'
    default:
      return assertNever(thing.kind)
  }
}

/** Also one that it had with another runtime. */
function hasConversation(session: SessionRow, owner: string | null): boolean {
  return withConversation(session).some(({ conversation }) => conversation === owner)
}

function whyKeptLeftOver({ path }: FoundThing, session: SessionRow | undefined): string | null {
  if (session === undefined) return 'its session is gone'
  // What a finish keeps is on record a moment after it is there.
  if (session.leaseId !== null || session.saga !== null || session.pending === 'finish') return null
  const name = path.split(/[\\/]/).at(-1) ?? ''
  if (session.parked?.work.files.some((file) => file.name === name)) return null
  return 'no parking of its session needs it'
}

function whyScratchLeftOver(
  { owner, ageMs }: FoundThing,
  { leases, planned }: Known,
): string | null {
  if (owner === null) return ageMs > ON_THE_WAY_MS ? 'what was being made was given up' : null
  if ([...leases, ...planned].some(({ nonce }) => nonce === owner)) return null
  return 'what made it has ended'
}
