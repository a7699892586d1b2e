import type { Instant, LeaseId } from '../../src-shared/ids.ts'
import { accept, assertNever, type Result, refuse } from '../../src-shared/refusal.ts'
import {
  type RuntimeCapabilities,
  type RuntimeName,
  titleOfRuntime,
} from '../../src-shared/runtimes.ts'
import type { Ids } from '../ports.ts'
import type { ContinueWith, PastConversation, ProjectRow, SessionRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { checkNotFinishing } from './finishing.ts'
import { handOver } from './hand-over.ts'
import { withdrawRequests } from './requests.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { MOVED_HINT } from './session-states.ts'
import { modelFor } from './stages.ts'
import { bringBack } from './tickets.ts'

type Taken = Result<Decision<SessionDraft>>

export type ContinueState = {
  facts: SessionFacts
  project: ProjectRow
  /** Of the runtime that is to go on. */
  capabilities: RuntimeCapabilities
  /** What people call the runtime that is to go on. */
  title: string
  /** What a new conversation is told first. */
  anew: string
}

export type ContinueCommand = {
  runtime: RuntimeName
  /** Null: what project and stage say of that runtime, else its own choice. */
  model: string | null
}

/**
 * Another runtime or model goes on with the session, in a new conversation: at once where no agent holds it, else as
 * soon as its agent, whose turn is interrupted, has let go.
 */
export function continueWith(
  { facts, project, capabilities, title, anew }: ContinueState,
  { runtime, model: chosenModel }: ContinueCommand,
  now: Instant,
  ids: Ids,
): Taken {
  const refused = checkContinues(facts)
  if (!refused.ok) return refused
  const { session } = facts
  const model = modelFor(project, { stage: session.stage, runtime, chosenModel })
  const told = session.continueWith?.told ?? false
  const next = { runtime, title, model, chosenModel, told }
  const draft = new SessionDraft(facts, now)
  if (isSame(session.continueWith ?? session, next)) {
    if (session.continueWith !== null) return accept({ answer: draft, change: null })
    return refuse(
      'session.same-runtime',
      `The session of ${facts.ticket.key} runs with ${title}${model === null ? '' : ` and ${model}`} already.`,
      'Name another runtime or model.',
    )
  }
  const image = draft.queued.some(({ images }) => images.length > 0)
  if (image && !capabilities.images) {
    return refuse(
      'image.unsupported',
      `A queued message of ${facts.ticket.key} has an image, and ${title} takes none.`,
      'Cancel that message or wait until it is delivered, or choose another runtime.',
    )
  }
  draft.set({ continueWith: next })
  if (session.leaseId === null) carryOnUnheld(draft, anew, ids)
  else {
    if (session.state === 'working' && session.pending === null) {
      draft.tell({ type: 'turn.interrupt', lease: session.leaseId })
    }
    draft.set({ pending: 'continue' })
    sayItContinues(draft)
    letGo(draft, session.leaseId)
  }
  return accept({ answer: draft, change: draft.change() })
}

function checkContinues(facts: SessionFacts): Result<undefined> {
  const { session, ticket } = facts
  const refused = (why: string, hint: string) =>
    refuse(`session.${session.state}`, `The session of ${ticket.key} ${why}.`, hint)
  const free = checkNotFinishing(facts, 'Continue it when that was not possible.')
  if (!free.ok) return free
  if (session.pending === 'stop') {
    return refuse(
      'session.stopping',
      `The session of ${ticket.key} is being stopped.`,
      'Continue it when it is stopped.',
    )
  }
  switch (session.state) {
    case 'queued':
    case 'starting':
    case 'waiting':
    case 'working':
    case 'resuming':
    case 'parked':
    case 'failed':
      return accept(undefined)
    case 'parking':
      return refused('is being parked', 'Continue it when it is parked.')
    case 'moved':
      return refused('was moved', MOVED_HINT)
    case 'finished':
    case 'cancelled':
      return refused(`is ${session.state}`, 'Start the ticket again for a new session.')
    default:
      return assertNever(session.state)
  }
}

function isSame(
  now: Pick<SessionRow, 'runtime' | 'model'>,
  next: Pick<SessionRow, 'runtime' | 'model'>,
): boolean {
  return now.runtime === next.runtime && now.model === next.model
}

function sayItContinues(draft: SessionDraft): void {
  const { state, continueWith: next } = draft.session
  if (next === null) return
  const cuts = state === 'working' ? 'its turn is interrupted, and then ' : ''
  draft.move(
    state,
    `${cuts}${titleOfNext(next)} goes on with it`,
    'To keep it where it is, stop the session.',
  )
}

/** An agent whose session is to go on with another runtime ends its own, once, when no turn runs any more. */
export function letGo(draft: SessionDraft, lease: LeaseId): void {
  const { state, leaseId, pending, continueWith: next } = draft.session
  if (next === null || next.told || pending !== 'continue' || leaseId !== lease) return
  if (state === 'working' || state === 'parking') return
  draft.set({ continueWith: { ...next, told: true } })
  sayItContinues(draft)
  draft.tell({ type: 'session.release', lease })
}

/** What a session that no agent holds does at once. */
export function carryOnUnheld(draft: SessionDraft, anew: string, ids: Ids): void {
  const { continueWith: next } = draft.session
  if (next === null) return
  changeRuntime(draft, anew, ids)
  const { state } = draft.session
  const reason = `${titleOfNext(next)} goes on with it`
  if (state === 'parked' || state === 'failed') bringBack(draft, draft.now)
  else if (state !== 'queued') draft.set({ queuedAt: draft.session.queuedAt ?? draft.now })
  if (draft.session.state === 'resuming') draft.move('resuming', reason)
}

/**
 * From here on the session is the other runtime's, which knows nothing of the conversation that was; nothing where
 * none is wanted. What was allowed for the session were rules of the old one.
 */
export function changeRuntime(draft: SessionDraft, anew: string, ids: Ids): void {
  const { continueWith: next, runtime: from, conversation, turn, pending } = draft.session
  if (next === null) return
  const { runtime: to, model, chosenModel } = next
  const isUntold = turn === 0 && draft.sent.length === 0 && draft.queued.length > 0
  for (const input of draft.sent) draft.changeInput(input, { state: 'unknown' })
  withdrawRequests(draft, draft.openRequests, `${titleOfNext(next)} goes on with the session`)
  for (const request of draft.requests) draft.request({ ...request, phase: 'over' })
  draft.event({ kind: 'runtime.changed', from, to, model, conversation })
  draft.domain({ kind: 'session.runtime', subject: draft.session.id, data: { from, to } })
  draft.set({
    ...{ runtime: to, runtimeVersion: null, model, chosenModel, grants: [] },
    ...leavingConversation(draft.session),
    ...{ contextTokens: null, contextWindow: null, turnCut: false, outcome: null },
    continueWith: null,
    pending: pending === 'continue' || pending === 'interrupt' ? null : pending,
  })
  if (isUntold) return
  handOver(draft, anew, ids)
}

/** What people call the runtime that is to go on. */
export const titleOfNext = ({ title, runtime }: ContinueWith): string =>
  title ?? titleOfRuntime(runtime)

/** It goes on without its conversation, which its runtime may still keep. */
export const leavingConversation = (session: PastOf) => ({
  conversation: null,
  conversations: withConversation(session),
  recorded: false,
})

type PastOf = Pick<SessionRow, 'conversations' | 'runtime' | 'conversation'>

/** The conversations that its runtimes keep, with the one that it leaves. */
export function withConversation({
  conversations,
  runtime,
  conversation,
}: PastOf): readonly PastConversation[] {
  if (conversation === null) return conversations
  const isKnown = conversations.some(
    (past) => past.runtime === runtime && past.conversation === conversation,
  )
  return isKnown ? conversations : [...conversations, { runtime, conversation }]
}
