import type { ProjectId, SessionId } from './ids.ts'
import type { InboxItem, InboxKind } from './inbox.ts'
import type { Assumption, Question } from './questions.ts'
import type { Request, Session } from './records.ts'

// Apart from the schemas, so that the window can order its inbox without loading them.

/** What the inbox is made of. */
export type InboxRecords = {
  sessions: Iterable<Session>
  questions: Iterable<Question>
  requests: Iterable<Request>
  assumptions: Iterable<Assumption>
}

/**
 * Everything that waits for a person, the most urgent first: urgent questions, requests and failures, questions,
 * sessions without a word, questions that are not urgent. Among alike ones what holds an agent comes before what does
 * not, then what waits longest. Alike questions of one turn stay together, in the order in which they were asked, from
 * the first of them that reached the person: the planner is done with them in any order. Assumptions come last: nothing
 * waits for them. Of a session, also of a parked one, only what is to be decided is there: none that waits for a word
 * where it has asked, and none that is being stopped or finished, or whose ticket is over.
 */
export function inboxOf(
  records: InboxRecords,
  filter: { project?: ProjectId | undefined; kind?: InboxKind | undefined } = {},
): InboxItem[] {
  const sessions = new Map([...records.sessions].map((session) => [session.id, session]))
  const ranked: Ranked[] = []
  const asked = new Set<SessionId>()
  /** Since when the first of the alike questions of a turn waits. */
  const firsts = new Map<string, string>()

  const add = (
    session: Session | undefined,
    rank: number,
    item: Pick<InboxItem, 'kind' | 'id' | 'text' | 'since'>,
    asking: Pick<Ranked, 'turn' | 'askedAt'> = { turn: '', askedAt: '' },
  ) => {
    if (session === undefined) return
    if (filter.project !== undefined && filter.project !== session.projectId) return
    if (filter.kind !== undefined && filter.kind !== item.kind) return
    const { id, ticket, project, parkAt, agent } = session
    if (asking.turn !== '') {
      const first = firsts.get(asking.turn)
      if (first === undefined || item.since < first) firsts.set(asking.turn, item.since)
    }
    ranked.push({
      ...asking,
      rank: agent === null ? rank + HOLDS_NONE : rank,
      item: { ...item, session: id, ticket, project, parkAt },
    })
  }

  for (const question of records.questions) {
    if (question.state === 'withdrawn') continue
    asked.add(question.session)
    if (question.state !== 'open' || question.heldBy !== 'person') continue
    const { id, question: text, reachedPersonAt, createdAt: askedAt, urgency, turn } = question
    const rank = urgency === 'high' ? 0 : urgency === 'normal' ? 2 : 4
    const since = reachedPersonAt ?? askedAt
    const asking = { turn: turn === null ? '' : `${question.session} ${turn} ${urgency}`, askedAt }
    add(sessions.get(question.session), rank, { kind: 'question', id, text, since }, asking)
  }
  for (const request of records.requests) {
    if (request.state !== 'open') continue
    asked.add(request.session)
    const { id, name, title, createdAt: since } = request
    add(sessions.get(request.session), 1, { kind: 'request', id, text: `${name}: ${title}`, since })
  }
  for (const session of sessions.values()) {
    const { id, state, outcome, reason, stateSince: since, queuedInputs, pending, parked } = session
    if (pending === 'stop' || pending === 'finish' || session.ticketOver === true) continue
    const isParked = state === 'parked' && parked !== null && !parked.wakes && parked.why !== 'stop'
    // What is queued of a parked session waits for a person, who parked it or stopped it.
    const isIdle = state === 'waiting' && queuedInputs === 0
    const waits = (isIdle || isParked) && !asked.has(id)
    if (state === 'failed' || (waits && outcome === 'failed')) {
      add(session, 1, { kind: 'failed', id, text: reason || 'It failed.', since })
    } else if (waits) {
      add(session, 3, { kind: 'waiting', id, text: reason || 'It waits for a word.', since })
    }
  }
  for (const assumption of records.assumptions) {
    if (assumption.state !== 'open') continue
    const { id, assumption: text, createdAt: since } = assumption
    add(sessions.get(assumption.session), 9, { kind: 'assumption', id, text, since })
  }
  const sinceOf = ({ turn, item }: Ranked) => firsts.get(turn) ?? item.since
  return ranked
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        compare(sinceOf(a), sinceOf(b)) ||
        compare(a.turn, b.turn) ||
        compare(a.askedAt, b.askedAt) ||
        compare(a.item.id, b.item.id),
    )
    .map(({ item }) => item)
}

type Ranked = {
  item: InboxItem
  rank: number
  /** What questions that stay together have in common; empty for what stands alone. */
  turn: string
  askedAt: string
}

/** Between two ranks. */
const HOLDS_NONE = 0.5

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
