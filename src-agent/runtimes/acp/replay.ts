import type { DeliveryId, Instant } from '../../../src-shared/ids.ts'
import type { DriverSignal, Fate, Recovery, ResumeFacts } from '../driver.ts'
import type { Normalizer } from './normalize.ts'
import { readUpdate } from './updates.ts'

/** What an agent told of a conversation while it loaded it: one turn for each message of the user. */
export type Replay = {
  userMessages: number
  /** The `params` of the updates after the last message of the user. */
  lastTurn: readonly unknown[]
}

/** Reads the updates that came before the answer to `session/load`. */
export function readReplay(updates: readonly unknown[]): Replay {
  let userMessages = 0
  let lastTurn: unknown[] = []
  /** The name of the user's message that is being told; undefined outside of one. */
  let message: string | null | undefined
  for (const params of updates) {
    const read = readUpdate(params)
    if ('unknown' in read) continue
    const { update } = read
    if (update.sessionUpdate === 'user_message_chunk') {
      const name = update.messageId ?? null
      if (message === undefined || name !== message) {
        userMessages += 1
        lastTurn = []
      }
      message = name
    } else if (SPOKEN.has(update.sessionUpdate)) {
      message = undefined
      lastTurn.push(params)
    }
  }
  return { userMessages, lastTurn }
}

/** What is part of the conversation; the others come at any time. */
const SPOKEN = new Set([
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'plan',
])

/**
 * What the loaded conversation says about the time before. The protocol gives Ballet no name for its messages, so the
 * fate of one is told only where no other could be meant. `normalizer` is used up.
 */
export function recoveryOf(
  replay: Replay | null,
  facts: ResumeFacts,
  normalizer: Normalizer,
  at: Instant,
): Recovery {
  const told = replay === null ? [] : eventsOf(replay, normalizer, at)
  const stored = new Set(facts.storedRefs)
  const knowsTurn = told.some((signal) => stored.has(refOf(signal) ?? ''))
  const isOnly = facts.turn === 1 && (replay?.userMessages ?? 0) > 0
  const isRecovered = facts.turnCut && (knowsTurn || isOnly)
  return {
    signals: isRecovered ? told.filter((signal) => !stored.has(refOf(signal) ?? '')) : [],
    fates: new Map(
      facts.openDeliveries.map(({ id }): [DeliveryId, Fate] => [
        id,
        fateOf(replay, knowsTurn, isOnly),
      ]),
    ),
  }
}

function fateOf(replay: Replay | null, knowsTurn: boolean, isOnly: boolean): Fate {
  if (replay === null || replay.userMessages === 0) return 'never'
  // Its last turn is one that the timeline tells more of than its beginning: the message would come after it.
  if (knowsTurn) return 'never'
  return isOnly ? 'delivered' : 'unknown'
}

/** The events of the last turn that have a name which stays the same from one process to the next. */
function eventsOf(replay: Replay, normalizer: Normalizer, at: Instant): DriverSignal[] {
  const signals = [
    ...normalizer.recall(at),
    ...replay.lastTurn.flatMap((params) => normalizer.update(params, at)),
    ...normalizer.ended({ reason: 'killed' }, at),
  ]
  return signals.filter((signal) => {
    const ref = refOf(signal)
    return ref !== undefined && !ref.startsWith('cost:')
  })
}

function refOf(signal: DriverSignal): string | undefined {
  return signal.type === 'event' ? signal.event.ref : undefined
}
