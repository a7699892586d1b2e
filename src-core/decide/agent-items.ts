import type { AgentItem } from '../../src-shared/agent-wire.ts'
import type { InputId, Instant } from '../../src-shared/ids.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import type { EventBody, LiveBlock } from '../../src-shared/timeline.ts'
import type { Ids } from '../ports.ts'
import type { LeaseRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { letGo } from './continue-with.ts'
import { storeLeftOut } from './damaged-files.ts'
import { beginFinish, isFinishedUnheld, refuseFinish, tellRefused } from './finishing.ts'
import { endLease } from './item-end.ts'
import { storeFinished, storeWorkspace } from './kept-work.ts'
import { takeMcpCall } from './mcp-calls.ts'
import {
  type Drained,
  refusePark,
  storeParked,
  storePushed,
  storeRestored,
  wakesUp,
  wakeUp,
} from './parking.ts'
import { type Items, isNoticeForRuntime, isUnreachableNotice } from './plain-items.ts'
import { sayWhatIsAsked, sendAnswers } from './questions.ts'
import { endTurnOfRequests, openRequest, settleRequest } from './requests.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'
import { isOver } from './session-states.ts'
import { failedStage, moveOn } from './stage-completion.ts'
import { SAID_OF_HELD_BACK, standingReason, UNREACHABLE_TOOLS } from './standing-reason.ts'
import { begunWith, type CutFacts, cutTurn, TURN_LOST } from './turn-cut.ts'
import { addUsage, afterTurn } from './turn-end.ts'
import { giveUpFinish, sayUnderWay } from './under-way.ts'

/**
 * What is known of the running turn while its agent lives. A session's cost is the greatest that was told: `cost`
 * events give the session's total so far (with what earlier leases spent, which an agent gets to know when it
 * resumes), `turn.ended` gives what its one turn cost on top of the total before it. Its usage is the sum of its
 * turns.
 */
export type RunningTurn = {
  /** The session's cost before it. */
  costBefore: number
  /** What began it. */
  inputs: readonly InputId[]
}

export type ItemsState = Pick<CutFacts, 'turnEvents' | 'live'> & {
  facts: SessionFacts
  running: RunningTurn | null
  lease: LeaseRow
  /** Whether the agent can be given more to do. */
  takesMore: boolean
  drained: Drained
  /** What a new conversation is told where the agent lost the one that was, or another runtime goes on; else null. */
  anew: string | null
  /** Why the planner does not try what is asked; null where it does. */
  plannerOff: string | null
}

export type ItemsAnswer = {
  draft: SessionDraft
  /** The last item of the lease was among them. */
  ended: boolean
  running: RunningTurn | null
}

/** Events whose loss in a power cut the next resume would not find out by itself. */
const lastingEvents: ReadonlySet<EventBody['kind']> = new Set(['turn.ended', 'request.opened'])

/** After these nothing can be delivered that could not be before; of events it is the end of a turn. */
const quiet: ReadonlySet<AgentItem['type']> = new Set(['event', 'workspace', 'pushed', 'finished'])

const mustLast = (item: AgentItem) => item.type !== 'event' || lastingEvents.has(item.event.kind)

/** What an agent's items do to the rows, and the events that Core adds to theirs, in order. */
export function takeItems(
  state: ItemsState,
  batch: Items,
  now: Instant,
  ids: Ids,
): Decision<ItemsAnswer> {
  const fold = new ItemFold(state, now, ids)
  for (const blob of batch.blobs) fold.draft.blob(blob)
  for (const item of batch.items) fold.take(item)
  sendAnswers(fold.draft, ids)
  const delivers = state.takesMore && state.drained === 'none'
  if (delivers && !fold.ended && fold.frees) fold.draft.deliver(ids)
  letGo(fold.draft, state.lease.id)
  sayWhatIsAsked(fold.draft)
  sayUnderWay(fold.draft)
  return {
    answer: { draft: fold.draft, ended: fold.ended, running: fold.running },
    change: {
      ...fold.draft.change(),
      durability: batch.items.some(mustLast) ? 'domain' : 'timeline',
      advance: { lease: state.lease.id, last: batch.last },
    },
  }
}

class ItemFold {
  readonly draft: SessionDraft
  ended = false
  /** Something came after which what is queued may be delivered, and nothing after that which makes it wait for a person. */
  frees = false
  running: RunningTurn | null
  readonly #state: ItemsState
  readonly #now: Instant
  readonly #ids: Ids
  /** False for a lease that ended before: its events are kept, and the session goes on without it. */
  readonly #current: boolean
  readonly #turnEvents: EventBody[]
  #live: readonly LiveBlock[]

  constructor(state: ItemsState, now: Instant, ids: Ids) {
    this.#state = state
    this.#now = now
    this.#ids = ids
    this.draft = new SessionDraft(state.facts, now)
    this.#current = state.facts.session.leaseId === state.lease.id
    this.#turnEvents = [...state.turnEvents]
    this.#live = state.live
    this.running = state.running
  }

  take(item: AgentItem): void {
    const { draft } = this
    if (!quiet.has(item.type)) this.frees = true
    switch (item.type) {
      case 'event':
        this.#event(item, item.at)
        break
      case 'workspace':
        draft.set({ baseCommit: item.baseCommit })
        storeWorkspace(draft)
        storeLeftOut(draft, item.leftOut ?? [])
        break
      case 'ready':
        this.#ready(item)
        break
      case 'delivered':
        this.#delivered((input) => input.delivery === item.delivery, item.steer === true)
        break
      case 'undelivered':
        this.#undelivered(item)
        break
      case 'request.answered':
      case 'request.unanswered':
      case 'request.withdrawn':
        if (this.#current) settleRequest(draft, item, this.#ids)
        break
      case 'mcp.call':
        takeMcpCall(
          draft,
          item,
          {
            lease: this.#state.lease.id,
            isCurrent: this.#current,
            plannerOff: this.#state.plannerOff,
          },
          this.#ids,
        )
        break
      case 'pushed':
        draft.set({ pushedCommit: item.commit })
        storePushed(draft)
        break
      case 'finished':
        if (this.#current || isFinishedUnheld(draft.session)) storeFinished(draft)
        break
      case 'parked':
        this.#parked(item)
        break
      case 'refused':
        this.#refused(item)
        break
      case 'ended':
        this.ended = true
        this.#ended(item)
        break
      default:
        assertNever(item)
    }
  }

  #event({ event, request }: Extract<AgentItem, { type: 'event' }>, at: Instant): void {
    const { draft } = this
    draft.event(event, at)
    this.#turnEvents.push(event)
    if (event.kind === 'turn.started') this.#turnStarted(event, at)
    if ('block' in event) this.#live = this.#live.filter(({ block }) => block !== event.block)
    if (event.kind === 'turn.ended') this.#turnEnded(event)
    if (isUnreachableNotice(event) && this.#current) {
      draft.move(draft.session.state, ...UNREACHABLE_TOOLS)
    }
    if (isNoticeForRuntime(event) && this.#current) {
      const { preface } = draft.session
      draft.set({ preface: preface === null ? event.text : `${preface}\n\n${event.text}` })
    }
    if (event.kind === 'request.opened') {
      const { takesMore, lease } = this.#state
      const isHeld = this.#current && takesMore
      openRequest(draft, { event, at, facts: request }, this.#current, isHeld ? lease.id : null)
    }
    if (event.kind === 'cost') {
      draft.set({
        costUsd: Math.max(draft.session.costUsd, event.costUsd),
        ...(event.contextTokens === undefined ? {} : { contextTokens: event.contextTokens }),
        ...(event.contextWindow === undefined ? {} : { contextWindow: event.contextWindow }),
      })
    }
  }

  #turnStarted(event: Extract<EventBody, { kind: 'turn.started' }>, at: Instant): void {
    const { draft } = this
    const number = event.turn ?? draft.session.turn + 1
    if (!this.#current) {
      draft.set({ turn: Math.max(draft.session.turn, number) })
      return
    }
    this.running = { costBefore: draft.session.costUsd, inputs: event.inputs }
    draft.beganTurn(event.inputs)
    if (draft.session.state === 'waiting') draft.move('working', ...standingReason(draft.session))
    draft.set({ turn: number, turnStartedAt: at, outcome: null })
    // The agent may have had no turn to interrupt when it was told.
    const { pending } = draft.session
    if (pending === 'interrupt' || pending === 'continue') {
      draft.tell({ type: 'turn.interrupt', lease: this.#state.lease.id })
    }
  }

  #turnEnded(event: Extract<EventBody, { kind: 'turn.ended' }>): void {
    const { draft } = this
    const { session } = draft
    const { running } = this
    this.running = null
    this.frees = true
    const told = this.#turnEvents.some(({ kind, turn }) => kind === 'cost' && turn === event.turn)
    const before = running?.costBefore ?? (told ? 0 : session.costUsd)
    draft.set({
      costUsd: Math.max(session.costUsd, before + event.costUsd),
      usage: addUsage(session.usage, event.usage),
    })
    if (!this.#current) return
    // A runtime that ended a turn in order has recorded what began it, also where it does not say so.
    const isCut = event.reason === 'killed' || event.cut === true
    // After a start of the host only the timeline knows what began it.
    const inputs = running?.inputs ?? begunWith(this.#turnEvents, event.turn)
    if (!isCut) this.#delivered((input) => inputs.includes(input.id))
    // Until it is known what became of its message, it is not over that the turn was to be interrupted.
    const isOpen =
      isCut && session.state === 'working' && draft.sent.some(({ id }) => inputs.includes(id))
    endTurnOfRequests(draft, event.reason)
    draft.set({
      turnStartedAt: null,
      ...(session.pending === 'interrupt' && !isOpen ? { pending: null } : {}),
      ...(isCut ? { turnCut: true } : {}),
    })
    if (session.state === 'parking' && event.reason !== 'completed' && wakesUp(session.saga)) {
      draft.set({ wakes: true })
    }
    if (session.state !== 'working') return
    draft.move('waiting', ...afterTurn(event, standingReason(draft.session)))
    sendAnswers(draft, this.#ids)
    if (event.reason === 'completed') moveOn(draft)
    else draft.set({ outcome: null })
  }

  #ready(item: Extract<AgentItem, { type: 'ready' }>): void {
    const { draft } = this
    if (item.conversation !== draft.session.conversation) draft.set({ recorded: false })
    draft.set({ conversation: item.conversation, runtimeVersion: item.runtimeVersion })
    if (!this.#current) return
    storeRestored(draft)
    const { state, reason } = draft.session
    if (state !== 'starting' && state !== 'resuming') return
    // What was brought back of the last turn may have begun one that nothing ends.
    const cause = reason || 'the last turn was cut'
    this.#cut({ detail: cause, hint: 'Send a message to go on.' })
    for (const input of draft.sent) draft.changeInput(input, { state: 'unknown' })
    const { turnCut, pending } = draft.session
    const answer = draft.openRequests.length > 0 ? 'Answer its request or send' : 'Send'
    if (turnCut) draft.move('waiting', cause, `${answer} a message to go on.`)
    else draft.move('waiting', ...(failedStage(draft.session) ?? standingReason(draft.session)))
    draft.set({ queuedAt: null })
    wakeUp(draft, this.#ids)
    if (pending === 'finish') beginFinish(draft, this.#state.lease.id)
    if (pending !== 'interrupt') return
    // The agent died before the turn began that was to be interrupted: it must not begin now.
    draft.set({ pending: null })
    this.frees = draft.queued.some(({ inputKind }) => inputKind === 'interrupt')
    if (!this.frees && draft.queued.length > 0) draft.move('waiting', ...SAID_OF_HELD_BACK)
  }

  #delivered(which: (input: SessionDraft['inputs'][number]) => boolean, steer = false): void {
    const { draft } = this
    const told = draft.sent.filter(which)
    for (const input of told) draft.changeInput(input, { state: 'delivered', steer })
    // What a resume finds in the record was said before the cut.
    if (told.length === 0) return
    draft.set({ recorded: true })
    const { state, pending } = draft.session
    if (state === 'working') draft.set({ turnCut: false, preface: null })
    else if (pending === 'interrupt' && draft.sent.length === 0) draft.set({ pending: null })
  }

  #undelivered(item: Extract<AgentItem, { type: 'undelivered' }>): void {
    const { draft } = this
    const held = draft.sent.filter((input) => input.delivery === item.delivery)
    if (held.length === 0) return
    for (const input of held) {
      if (item.fate === 'never')
        draft.changeInput(input, { state: 'queued', delivery: null, steer: false })
      else draft.changeInput(input, { state: 'unknown' })
    }
    // It may be in the record.
    if (item.fate === 'unknown') draft.set({ recorded: true })
    const { state, turnStartedAt, pending, turnCut, turn } = draft.session
    const begun = begunWith(this.#turnEvents, turn)
    const isLost = turnCut && item.fate === 'never' && held.some(({ id }) => begun.includes(id))
    if (isLost && (state === 'resuming' || state === 'waiting')) draft.event(TURN_LOST)
    if (turnStartedAt !== null) return
    if (state !== 'working') {
      if (pending === 'interrupt') this.#settleInterrupt(item.fate, begun)
      return
    }
    draft.move('waiting', item.reason, 'Send a message to try again.')
    if (pending !== 'interrupt') return
    draft.set({ pending: null })
    // Who interrupted without a word did not want it done.
    const message = draft.queued.some(({ inputKind }) => inputKind === 'interrupt')
    if (!message && draft.queued.length > 0) this.#holdBack()
  }

  /** The fate of what began the interrupted turn is known: only where nothing else was said by now, it is held back. */
  #settleInterrupt(fate: 'never' | 'unknown', begun: readonly InputId[]): void {
    const { draft } = this
    if (draft.sent.length > 0) return
    const isBegun = ({ id }: { id: InputId }) => begun.includes(id)
    const isResuming = draft.session.state === 'resuming'
    // Of a turn that had not begun the next `ready` decides.
    if (isResuming && (fate === 'never' || draft.queued.some(isBegun))) return
    draft.set({ pending: null })
    if (!isResuming && draft.queued.length > 0 && draft.queued.every(isBegun)) this.#holdBack()
  }

  #holdBack(): void {
    this.frees = false
    this.draft.move('waiting', ...SAID_OF_HELD_BACK)
  }

  #refused(item: Extract<AgentItem, { type: 'refused' }>): void {
    const { draft } = this
    if (item.what === 'park' && this.#current && draft.session.state === 'parking') {
      refusePark(draft, item.refusal, this.#state.drained, item.at)
      return
    }
    if (this.#current && item.what === 'finish' && draft.session.pending === 'stop') {
      giveUpFinish(draft, item.refusal, item.at)
      return
    }
    if (!this.#current || draft.session.pending !== item.what) {
      tellRefused(draft, item.refusal, item.at)
      return
    }
    // Nothing more is done for a person who wanted it to end.
    this.frees = false
    refuseFinish(draft, item.refusal, item.at)
  }

  #parked(item: Extract<AgentItem, { type: 'parked' }>): void {
    if (!this.#current) return
    this.#cut({ detail: 'the session was parked', hint: '' })
    storeParked(this.draft, item, this.#state.drained, this.#ids)
  }

  #ended(item: Extract<AgentItem, { type: 'ended' }>): void {
    const { draft } = this
    if (this.#current) {
      this.#cut({
        detail: item.refusal?.message ?? `the session ended (${item.outcome})`,
        hint: item.refusal?.hint ?? '',
      })
    }
    const late = !this.#current
    if (late && (item.outcome !== 'finished' || isOver(draft.session.state))) return
    const { lease, anew } = this.#state
    endLease(draft, { lease, item, anew }, this.#now, this.#ids)
  }

  #cut(cause: { detail: string; hint: string }): void {
    cutTurn(
      this.draft,
      {
        turnEvents: this.#turnEvents,
        live: this.#live,
        costBefore: this.running?.costBefore ?? null,
      },
      this.#now,
      cause,
    )
    this.#live = []
    this.running = null
  }
}
