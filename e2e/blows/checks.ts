import { isDeepStrictEqual } from 'node:util'
import type { Agent, Input, Session } from '../../src-shared/records.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { isRecord, textsOf, wholeText } from '../model/messages.ts'
import type { RecordedRequest } from '../model/record.ts'
import type { ModelServer } from '../model/server.ts'
import { requestsOf } from '../support/conversation.ts'
import { timelineFaults } from '../support/timeline-checks.ts'
import { ofKind } from '../support/watch.ts'
import type { Follower } from './follower.ts'
import type { Said } from './ledger.ts'

/** Everything that is known of one session at rest. */
export type Held = {
  readonly session: Session
  readonly events: readonly TimelineEvent[]
  readonly inputs: readonly Input[]
  readonly said: readonly Said[]
  readonly follower: Follower | undefined
  /** What the model was asked in its conversation since the last look. */
  readonly requests: readonly RecordedRequest[]
}

/** Everything that is wrong with a session, as sentences. */
export function sessionFaults(held: Held): string[] {
  return [
    ...timelineFaults(held.events, held.session),
    ...shownFaults(held),
    ...inputFaults(held),
    ...conversationFaults(held),
  ].map((fault) => `${held.session.ticket}: ${fault}`)
}

export function requestsIn(model: ModelServer, session: Session): RecordedRequest[] {
  return session.conversation === null ? [] : requestsOf(model, session.conversation)
}

/** What was shown is stored, at its place, and as it was shown. */
function shownFaults({ follower, events }: Held): string[] {
  if (follower === undefined) return []
  const changed = follower.shown.filter((event) => !isDeepStrictEqual(event, events[event.seq - 1]))
  return [
    ...follower.faults(),
    ...changed.map((event) => `event ${event.seq} was shown, and is not stored as it was shown`),
  ]
}

/** What was taken is there, in a state that people can see, and the timeline says the same. */
function inputFaults({ said, inputs, session, events }: Held): string[] {
  const faults: string[] = []
  for (const { outcome, input, word } of said) {
    const matching = inputs.filter((each) =>
      input === null ? each.text.includes(word) : each.id === input,
    )
    if (outcome === 'open') faults.push(`${word} was never answered`)
    if (outcome === 'taken' && matching.length !== 1) {
      faults.push(`${word} is ${matching.length} inputs`)
    }
  }
  const told = new Map<string, string>()
  for (const event of events) {
    if (event.kind.startsWith('input.') && 'input' in event) {
      told.set(event.input, event.kind.slice('input.'.length))
    }
  }
  for (const { id, state, text } of inputs) {
    const name = text.slice(0, 30)
    if (told.get(id) !== state) faults.push(`${name} is ${state}, told is ${told.get(id)}`)
    // What became of it is told by the next agent.
    if (state === 'sent' && session.agent !== null) faults.push(`${name} is still under way`)
  }
  return faults
}

/** What the runtime has in its conversation is what the timeline tells, once. */
function conversationFaults({ session, requests, said, inputs, events }: Held): string[] {
  const faults: string[] = []
  for (const request of requests) {
    const users = wordsIn(userTexts(request))
    for (const { word } of said) {
      const times = users.filter((each) => each === word).length
      if (times > 1) faults.push(`${word} stands ${times} times in request ${request.n}`)
    }
    for (const word of said.flatMap(({ withdrawn }) => withdrawn)) {
      if (users.includes(word))
        faults.push(`${word} was edited, and stands in request ${request.n}`)
    }
  }
  const last = requests.at(-1)
  if (last === undefined) return faults
  const users = new Set(wordsIn(userTexts(last)))
  faults.push(...deliveryFaults(users, said, inputs, events))
  // What the runtime still did after its agent was killed is recovered by the next one.
  if (session.agent === null && session.state !== 'finished') return faults
  const texts = toldTexts(events)
  for (const word of new Set(wordsIn(assistantTexts(last)))) {
    if (!word.startsWith('<text-')) continue
    const times = texts.filter((text) => text.includes(word)).length
    if (times !== 1) faults.push(`the answer ${word} stands ${times} times in the timeline`)
  }
  const calls = new Set(ofKind(events, 'tool.call').map(({ callId }) => callId))
  for (const callId of callsIn(last)) {
    if (!calls.has(callId)) faults.push(`the call ${callId} is not in the timeline`)
  }
  return faults
}

/** A block that was cut and is recovered whole later is told once; the conversation has nothing of a lost turn. */
function toldTexts(events: readonly TimelineEvent[]): string[] {
  const lost = lostTurns(events)
  const told = ofKind(events, 'assistant.text').filter(({ turn }) => !lost.has(turn))
  const wholes = new Map(
    told.flatMap(({ block, partial, text }) =>
      block === undefined || partial === true ? [] : [[block, text]],
    ),
  )
  return told.flatMap(({ block, partial, text }) => {
    const whole = partial === true && block !== undefined ? wholes.get(block) : undefined
    return whole?.startsWith(text) === true ? [] : [text]
  })
}

/**
 * Turns that a kill cut before the runtime had recorded what began them: all of it was never delivered, and is queued
 * again after the turn's end.
 */
function lostTurns(events: readonly TimelineEvent[]): ReadonlySet<number | undefined> {
  const turns = new Set<number | undefined>()
  let cut: Extract<TimelineEvent, { kind: 'turn.started' }> | null = null
  let open: Set<string> = new Set()
  for (const event of events) {
    if (event.kind === 'turn.started') {
      cut = event
      open = new Set(event.inputs)
    } else if (event.kind === 'turn.ended' && event.reason !== 'killed') cut = null
    else if (event.kind === 'input.delivered' && open.has(event.input)) cut = null
    else if (event.kind === 'input.queued' && cut !== null && open.delete(event.input)) {
      if (open.size === 0) turns.add(cut.turn)
    }
  }
  return turns
}

/** Of what was delivered nothing is missing before the last that the model saw; what was not is not seen. */
function deliveryFaults(
  users: ReadonlySet<string>,
  said: readonly Said[],
  inputs: readonly Input[],
  events: readonly TimelineEvent[],
): string[] {
  const faults: string[] = []
  const wordOf = (id: string, text: string) =>
    said.find(({ input, word }) => (input === null ? text.includes(word) : input === id))?.word
  const delivered = ofKind(events, 'input.delivered').flatMap(({ input, text }) => {
    const word = wordOf(input, text)
    return word === undefined ? [] : [word]
  })
  const lastSeen = delivered.map((word) => users.has(word)).lastIndexOf(true)
  for (const word of delivered.slice(0, Math.max(0, lastSeen))) {
    if (!users.has(word)) faults.push(`${word} was delivered, and the model does not see it`)
  }
  for (const { id, text, state } of inputs) {
    const word = wordOf(id, text)
    if (word === undefined || !users.has(word)) continue
    // Of one that is sent the next agent tells what became of it.
    if (state !== 'delivered' && state !== 'unknown' && state !== 'sent') {
      faults.push(`${word} is ${state}, and the model sees it`)
    }
  }
  return faults
}

/** What people said, also what was handed over in the middle of a turn, beside a tool's result. */
function userTexts(request: RecordedRequest): string {
  return wholeText(request.messages.filter(({ role }) => role === 'user'))
}

function assistantTexts(request: RecordedRequest): string {
  return request.messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(textsOf)
    .join('\n')
}

function callsIn(request: RecordedRequest): string[] {
  return request.messages.flatMap(({ role, content }) =>
    role !== 'assistant' || typeof content === 'string'
      ? []
      : content.flatMap((block) =>
          isRecord(block) && block.type === 'tool_use' && typeof block.id === 'string'
            ? [block.id]
            : [],
        ),
  )
}

function wordsIn(text: string): string[] {
  return text.match(/<[a-z]+-\d+-\d+>/gu) ?? []
}

/** What agents and sessions say of each other. */
export function rowFaults(sessions: readonly Session[], agents: readonly Agent[]): string[] {
  const faults: string[] = []
  for (const agent of agents) {
    const held = sessions.filter((session) => session.agent === agent.id)
    if (held.length > 1) faults.push(`${agent.id} holds ${held.length} sessions`)
    const [session] = held
    if ((session?.id ?? null) !== agent.session) {
      faults.push(`${agent.id} holds ${agent.session}, the sessions say ${session?.id}`)
    }
    if ((agent.state === 'busy') !== (session !== undefined)) {
      faults.push(`${agent.id} is ${agent.state} with ${session?.ticket ?? 'no session'}`)
    }
  }
  for (const { ticket, agent } of sessions) {
    if (agent !== null && !agents.some(({ id }) => id === agent)) {
      faults.push(`${ticket} is with ${agent}, which is not in the fleet`)
    }
  }
  return faults
}
