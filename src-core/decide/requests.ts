import { createHash } from 'node:crypto'
import type { AgentItem, RequestFacts, SessionGrant, ToAgent } from '../../src-shared/agent-wire.ts'
import { InputId, type Instant, type LeaseId } from '../../src-shared/ids.ts'
import type { Author, RequestOutcome } from '../../src-shared/records.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { EventBody, TurnEndReason } from '../../src-shared/timeline.ts'
import type { Ids } from '../ports.ts'
import { lateAnswer } from '../sessions/prompt.ts'
import type { RequestRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isOver } from './session-states.ts'
import { bringBack } from './tickets.ts'

type Asked = {
  event: Extract<EventBody, { kind: 'request.opened' }>
  at: Instant
  facts: RequestFacts | undefined
}

const WAITS = 'waits for permission: '

/**
 * A runtime asks. What was allowed before is answered at once, in the same change, so that one answer allows one
 * call. `isCurrent`: the session's present runtime asks; `lease` is null where nobody can be told.
 */
export function openRequest(
  draft: SessionDraft,
  asked: Asked,
  isCurrent: boolean,
  lease: LeaseId | null,
): void {
  const row = newRequest(draft, asked, isCurrent)
  if (isOver(draft.session.state)) {
    withdrawRequests(draft, [row], 'the session is over')
    return
  }
  const same = draft.requests.filter(({ facts }) => facts.digest === row.facts.digest)
  const before = same.find(({ phase }) => phase === 'allows-once')
  const isGranted = draft.session.grants.some(({ digest }) => digest === row.facts.digest)
  if (lease !== null && (before !== undefined || isGranted)) {
    if (before !== undefined) draft.request({ ...before, phase: 'over' })
    const outcome = before?.state === 'allowed' ? 'allowed' : 'allowed-for-session'
    close(draft, row, { outcome, author: 'person', text: 'allowed before' }, 'waits')
    draft.tell(answerMessage(draft, lease, row, { outcome }))
    return
  }
  draft.request(row)
  const replaced = same.filter(({ phase }) => phase === 'gone')
  withdrawRequests(draft, replaced, 'asked again')
  sayWhatItWaitsFor(draft)
}

function newRequest(
  draft: SessionDraft,
  { event, at, facts }: Asked,
  isCurrent: boolean,
): RequestRow {
  const { request: id, callId, toolKind, title, input } = event
  const name = event.name ?? toolKind
  return {
    id,
    sessionId: draft.session.id,
    callId,
    name,
    toolKind,
    title,
    input,
    inputBlob: event.inputBlob ?? null,
    facts: facts ?? { digest: digestOf(name, input), rules: [], ruleTexts: [] },
    state: 'open',
    phase: isCurrent ? 'waits' : 'gone',
    author: null,
    text: null,
    turn: event.turn ?? null,
    createdAt: at,
    answeredAt: null,
  }
}

function digestOf(name: string, input: string): string {
  return createHash('sha256')
    .update(JSON.stringify([name, input]))
    .digest('hex')
}

export type Answer = {
  outcome: Exclude<RequestOutcome, 'withdrawn'>
  text?: string | undefined
}

export type RequestState = { facts: SessionFacts; request: RequestRow }

/**
 * A person's answer to an open request. It goes to the runtime that waits for it; where that one is gone, the
 * session goes on with a message that tells the answer, and an allowed call is allowed once more without asking.
 */
export function answerRequest(
  { facts, request }: RequestState,
  answer: Answer,
  now: Instant,
  ids: Ids,
): Result<Decision<{ draft: SessionDraft; request: RequestRow }>> {
  if (request.state !== 'open') return closedAlready(request)
  const draft = new SessionDraft(facts, now)
  const { leaseId, pending } = facts.session
  if (pending === 'finish') {
    return refuse(
      'session.finishing',
      `The session of ${facts.ticket.key} is being finished, which withdraws its requests.`,
      'Answer the request when that was not possible.',
    )
  }
  if (answer.outcome === 'allowed-for-session') grant(draft, request.facts)
  const given = { ...answer, author: 'person' } as const
  let row: RequestRow
  if (request.phase === 'waits' && leaseId !== null) {
    row = close(draft, request, given, 'waits')
    draft.tell(answerMessage(draft, leaseId, request, answer))
  } else {
    row = tellLate(draft, close(draft, request, given, 'gone'), true, ids)
    const { state } = draft.session
    if (state === 'parked' || state === 'failed') bringBack(draft, now)
    draft.deliver(ids)
  }
  return accept({ answer: { draft, request: row }, change: draft.change() })
}

const words: Readonly<Record<RequestOutcome, string>> = {
  allowed: 'allowed',
  'allowed-for-session': 'allowed for the session',
  denied: 'denied',
  withdrawn: 'withdrawn',
}

function closedAlready({ state, author, title, text }: RequestRow): Result<never> {
  if (state === 'open') throw new Error('The request is open.')
  const who = author === 'person' ? 'a person' : 'Ballet'
  const why = text === null ? '' : ` (${text})`
  return refuse(
    'request.closed',
    `The request “${title}” was ${words[state]} already, by ${who}${why}.`,
    'The timeline of its session shows what came of it.',
  )
}

/** What a stop or a parking cuts is still asked afterwards. */
const keepsRequests = ({ session }: SessionDraft) =>
  session.pending === 'stop' || session.saga !== null

/** What the agent that holds the session tells of a request. */
export function settleRequest(
  draft: SessionDraft,
  item: Extract<
    AgentItem,
    { type: 'request.answered' | 'request.unanswered' | 'request.withdrawn' }
  >,
  ids: Ids,
): void {
  const row = draft.requests.find(({ id, phase }) => id === item.request && phase === 'waits')
  if (row === undefined) return
  const isAnswered = row.state !== 'open'
  const isKept = keepsRequests(draft)
  if (item.type === 'request.withdrawn' && !isKept) {
    if (isAnswered) draft.request({ ...row, phase: 'over' })
    else withdrawRequests(draft, [row])
  } else if (item.type === 'request.answered') {
    if (isAnswered) draft.request({ ...row, phase: 'over' })
  } else if (isAnswered) tellLate(draft, row, true, ids)
  else draft.request({ ...row, phase: 'gone' })
  sayWhatItWaitsFor(draft)
}

/**
 * The turn is over, and its runtime waits for nothing any more. Requests of a turn that a stop or a death cut stay
 * open; of an answer to them the agent tells whether the runtime got it.
 */
export function endTurnOfRequests(draft: SessionDraft, reason: TurnEndReason): void {
  const isKept = reason === 'killed' || keepsRequests(draft)
  for (const row of draft.requests.filter(({ phase }) => phase === 'waits')) {
    if (row.state === 'open') {
      if (isKept) draft.request({ ...row, phase: 'gone' })
      else withdrawRequests(draft, [row], 'its turn is over')
    } else if (!isKept) draft.request({ ...row, phase: 'over' })
  }
}

/** The runtime is gone, and nobody will tell which answers it got. */
export function loseRuntime(draft: SessionDraft, ids: Ids): void {
  for (const row of draft.requests.filter(({ phase }) => phase === 'waits')) {
    if (row.state === 'open') draft.request({ ...row, phase: 'gone' })
    else tellLate(draft, row, false, ids)
  }
}

/** Nobody needs to answer these any more. */
export function withdrawRequests(
  draft: SessionDraft,
  requests: readonly RequestRow[],
  text?: string,
): void {
  for (const row of requests) {
    close(draft, row, { outcome: 'withdrawn', author: 'ballet', text }, 'over')
  }
}

function close(
  draft: SessionDraft,
  row: RequestRow,
  { outcome, author, text }: { outcome: RequestOutcome; author: Author; text?: string | undefined },
  phase: RequestRow['phase'],
): RequestRow {
  const { turnStartedAt } = draft.session
  const closed: RequestRow = {
    ...row,
    state: outcome,
    author,
    text: text ?? null,
    answeredAt: draft.now,
    phase,
  }
  draft.request(closed)
  draft.event({
    kind: 'request.closed',
    request: row.id,
    outcome,
    author,
    ...(text === undefined ? {} : { text }),
    ...(row.turn !== null && row.phase === 'waits' && turnStartedAt !== null
      ? { turn: row.turn }
      : {}),
  })
  draft.domain({ kind: 'request.closed', subject: row.id, data: { outcome, author } })
  sayWhatItWaitsFor(draft)
  return closed
}

/** An answer that the runtime which asked did not get, or not for certain, goes to the one that goes on. */
function tellLate(draft: SessionDraft, row: RequestRow, isCertain: boolean, ids: Ids): RequestRow {
  const isAllowed = row.state === 'allowed' || row.state === 'allowed-for-session'
  const told: RequestRow = { ...row, phase: isAllowed && isCertain ? 'allows-once' : 'over' }
  draft.request(told)
  draft.queue({
    id: InputId.parse(ids.uuid()),
    sessionId: draft.session.id,
    inputKind: 'answer',
    text: lateAnswer(row, isCertain),
    author: 'ballet',
  })
  return told
}

function grant(draft: SessionDraft, { digest, rules }: SessionGrant): void {
  const { grants } = draft.session
  if (grants.some((known) => known.digest === digest)) return
  draft.set({ grants: [...grants, { digest, rules }] })
}

const outcomes = {
  allowed: 'allow',
  'allowed-for-session': 'allow-for-session',
  denied: 'deny',
} as const

function answerMessage(
  draft: SessionDraft,
  lease: LeaseId,
  row: RequestRow,
  { outcome, text }: Answer,
): Extract<ToAgent, { type: 'request.answer' }> {
  return {
    type: 'request.answer',
    lease,
    request: row.id,
    outcome: outcomes[outcome],
    ...(text === undefined ? {} : { text }),
    ...(outcome === 'allowed-for-session' ? { grants: [...draft.session.grants] } : {}),
  }
}

/** A working session says that it waits for a person, as long as it does. */
function sayWhatItWaitsFor(draft: SessionDraft): void {
  const { state, reason } = draft.session
  if (state !== 'working') return
  const open = draft.openRequests.find(({ phase }) => phase === 'waits')
  if (open !== undefined) draft.set({ reason: `${WAITS}${open.title}`, hint: 'Allow or deny it.' })
  else if (reason.startsWith(WAITS)) draft.set({ reason: '', hint: '' })
}
