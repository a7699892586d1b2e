import type { InputId, Instant } from '../../src-shared/ids.ts'
import type { EventBody, LiveBlock } from '../../src-shared/timeline.ts'
import { inlineText } from './large-text.ts'
import type { SessionDraft } from './session-draft.ts'

/** What is known of a turn whose agent is gone. */
export type CutFacts = {
  /** The events of the running turn so far; others do no harm. */
  turnEvents: readonly EventBody[]
  /** What Core holds of its unfinished blocks. */
  live: readonly LiveBlock[]
  /** The session's cost before the turn; null when nobody knows. */
  costBefore: number | null
}

/** The runtime ended before it had recorded what the turn began with: it does not know that it was asked. */
export const TURN_LOST: EventBody = {
  kind: 'notice',
  level: 'warning',
  code: 'turn.lost',
  text: 'The runtime had not recorded yet what the last turn began with. The message goes to it again, with a word that the turn was cut: what was done in it may be done a second time.',
}

/** What began a turn, as far as these events tell. */
export function begunWith(
  events: readonly EventBody[],
  turn: number | undefined,
): readonly InputId[] {
  return events.flatMap((event) =>
    event.kind === 'turn.started' && event.turn === turn ? event.inputs : [],
  )
}

/** Calls of the events that nobody told the result of; Core's own `unknown` is no result. */
export function openCalls(events: readonly EventBody[]): string[] {
  const open = new Set<string>()
  for (const event of events) {
    if (event.kind === 'tool.call') open.add(event.callId)
    else if (event.kind === 'tool.result' && event.status !== 'unknown') open.delete(event.callId)
  }
  return [...open]
}

const elapsed = (from: Instant, to: Instant) => Math.max(0, Date.parse(to) - Date.parse(from))

/**
 * Ends a turn that nothing will end any more: what was shown of its unfinished blocks is stored as partial, tool
 * calls without a result get one that says so, and the turn is killed. Without a running turn only blocks are kept.
 */
export function cutTurn(
  draft: SessionDraft,
  facts: CutFacts,
  now: Instant,
  cause: { detail: string; hint: string },
): void {
  const outputs = new Map<string, string>()
  for (const block of facts.live) {
    if (block.kind === 'tool.output') {
      if (block.callId !== undefined) outputs.set(block.callId, block.text)
      continue
    }
    if (block.text === '') continue
    const cut = inlineText(block.text)
    draft.blob(cut.blob)
    draft.event({
      kind: block.kind,
      text: cut.text,
      block: block.block,
      partial: true,
      ...(cut.id === null ? {} : { textBlob: cut.id }),
      ...(block.turn === undefined ? {} : { turn: block.turn }),
      ...(block.parent === undefined ? {} : { parent: block.parent }),
    })
  }
  const { turn, turnStartedAt, costUsd } = draft.session
  if (turnStartedAt === null) return
  const events = facts.turnEvents.filter((event) => event.turn === turn)
  for (const callId of openCalls(events)) {
    const call = events.find((event) => event.kind === 'tool.call' && event.callId === callId)
    const output = outputs.get(callId) ?? ''
    const cut = inlineText(output)
    draft.blob(cut.blob)
    draft.event({
      kind: 'tool.result',
      turn,
      callId,
      status: 'unknown',
      output: cut.text,
      ...(cut.id === null
        ? {}
        : { outputBlob: cut.id, outputBytes: Buffer.byteLength(output, 'utf8') }),
      ...(call?.parent === undefined ? {} : { parent: call.parent }),
    })
  }
  draft.event({
    kind: 'turn.ended',
    turn,
    reason: 'killed',
    durationMs: elapsed(turnStartedAt, now),
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
    costUsd: Math.max(0, costUsd - (facts.costBefore ?? costUsd)),
    detail: cause.detail,
    hint: cause.hint,
  })
  draft.set({ turnStartedAt: null, turnCut: true })
}
