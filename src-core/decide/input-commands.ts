import type { InputId, Instant, LeaseId } from '../../src-shared/ids.ts'
import type { InputState } from '../../src-shared/records.ts'
import { accept, assertNever, type Result, refuse } from '../../src-shared/refusal.ts'
import type { RuntimeCapabilities } from '../../src-shared/runtimes.ts'
import type { Ids } from '../ports.ts'
import type { InputRow } from '../storage/rows.ts'
import type { Decision } from './change.ts'
import { SessionDraft, type SessionFacts } from './session-draft.ts'

/** An input, with everything that a decision about its session is made on. */
export type InputFacts = { facts: SessionFacts; input: InputRow }

type Changed = Result<Decision<InputRow>>

/** Two places that are nearer to each other than this have no room between them. */
const LEAST_GAP = 1e-6

/** What is queued is in hand; everything else is refused with its state. */
function checkQueued({ facts, input }: InputFacts): Result<never> | null {
  if (input.state === 'queued') return null
  return refuse(
    `input.${input.state}`,
    `The message ${input.id} of ${facts.ticket.key} ${told(input.state)}.`,
    'Only queued messages can be changed; send another one.',
  )
}

function told(state: Exclude<InputState, 'queued'>): string {
  switch (state) {
    case 'sent':
      return 'is being delivered'
    case 'delivered':
      return 'is delivered already'
    case 'cancelled':
      return 'is cancelled'
    case 'unknown':
      return 'was handed over, and whether it arrived is not known'
    default:
      return assertNever(state)
  }
}

export function editInput(state: InputFacts, text: string, now: Instant): Changed {
  const refused = checkQueued(state)
  if (refused !== null) return refused
  if (state.input.text === text) return accept({ answer: state.input, change: null })
  const draft = new SessionDraft(state.facts, now)
  const answer = draft.editInput(state.input, { text })
  return accept({ answer, change: draft.change() })
}

/** A second cancelling finds nothing left to do. */
export function cancelInput(state: InputFacts, now: Instant): Changed {
  const { input } = state
  if (input.state === 'cancelled') return accept({ answer: input, change: null })
  const refused = checkQueued(state)
  if (refused !== null) return refused
  const draft = new SessionDraft(state.facts, now)
  draft.changeInput(input, { state: 'cancelled' })
  return accept({ answer: { ...input, state: 'cancelled' }, change: draft.change() })
}

/** `before`: null for the end of the queue. */
export function moveInput(state: InputFacts, before: InputRow | null, now: Instant): Changed {
  const { facts, input } = state
  const refused = checkQueued(state)
  if (refused !== null) return refused
  if (before !== null) {
    if (before.sessionId !== input.sessionId) {
      return refuse(
        'input.elsewhere',
        `The message ${before.id} belongs to another session.`,
        'Name a queued message of the same session.',
      )
    }
    const gone = checkQueued({ facts, input: before })
    if (gone !== null) return gone
  }
  const draft = new SessionDraft(facts, now)
  const others = draft.queued.filter(({ id }) => id !== input.id)
  const place =
    before === null ? others.length : others.findIndex((other) => other.id === before.id)
  const already = draft.queued.findIndex(({ id }) => id === input.id) === place
  if (place < 0 || already) return accept({ answer: input, change: null })
  const answer = draft.editInput(input, {
    position: positionAt(draft, others, place),
    before: before?.id ?? null,
  })
  return accept({ answer, change: draft.change() })
}

/** A position for what comes to a place among others; makes room there first where there is none. */
function positionAt(draft: SessionDraft, others: readonly InputRow[], place: number): number {
  const next = others[place]
  // As that of a new input: nothing is after it.
  if (next === undefined) return draft.nextSeq
  const previous = others[place - 1]?.position ?? next.position - 1
  if (next.position - previous > LEAST_GAP) return (previous + next.position) / 2
  const first = others[0]?.position ?? 0
  const last = others.at(-1)?.position ?? first
  const step = Math.max(last - first, 1) / (others.length + 1)
  const spread = others.map((_, index) => first + (index + (index < place ? 0 : 1)) * step)
  for (const [index, other] of others.entries()) draft.place(other, spread[index] ?? first)
  return first + place * step
}

/** Hands a queued input over in the middle of the turn. */
export function steerQueued(
  state: InputFacts,
  capabilities: RuntimeCapabilities | undefined,
  now: Instant,
  ids: Ids,
): Changed {
  const refused = checkQueued(state)
  if (refused !== null) return refused
  const draft = new SessionDraft(state.facts, now)
  const steers = checkSteers(draft, capabilities)
  if (!steers.ok) return steers
  const answer = steerInput(draft, state.input.id, steers.value, ids)
  return accept({ answer, change: draft.change() })
}

/** The lease of the turn that takes a message; refused where none runs, it is being ended, or the runtime cannot. */
export function checkSteers(
  draft: SessionDraft,
  capabilities: RuntimeCapabilities | undefined,
): Result<LeaseId> {
  const { runtime, state, leaseId, pending } = draft.session
  const { key } = draft.ticket
  if (state !== 'working' || leaseId === null) {
    return refuse(
      'steer.no-turn',
      `No turn of ${key} runs: there is nothing to steer.`,
      'The message is delivered as the beginning of the next turn.',
    )
  }
  if (pending !== null) {
    return refuse(
      'steer.ending',
      `The turn of ${key} is being ended.`,
      'The message is delivered as the beginning of the next turn.',
    )
  }
  if (capabilities?.steer !== true) {
    return refuse(
      'steer.unsupported',
      `${runtime} takes no messages in the middle of a turn.`,
      'The message is delivered when the turn ends.',
    )
  }
  return accept(leaseId)
}

/** Hands a queued input to the turn that runs under the lease. */
export function steerInput(draft: SessionDraft, id: InputId, lease: LeaseId, ids: Ids): InputRow {
  const input = draft.queued.find((queued) => queued.id === id)
  if (input === undefined) throw new Error(`The input ${id} is not queued.`)
  return draft.steer(input, lease, ids)
}
