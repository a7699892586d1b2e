import { expect, it } from 'vitest'
import type { Session } from '../../src-shared/records.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { Message } from '../model/messages.ts'
import type { RecordedRequest } from '../model/record.ts'
import { type Held, rowFaults, sessionFaults } from './checks.ts'

const TICKET = '<ticket-1-1>'
const LATER = '<said-1-2>'
const ANSWER = '<text-1-3>'

const bodies: readonly Record<string, unknown>[] = [
  { kind: 'session.state', from: null, to: 'queued', reason: '' },
  { kind: 'input.queued', input: 'i1', text: TICKET },
  { kind: 'session.state', from: 'queued', to: 'starting', reason: '' },
  { kind: 'session.state', from: 'starting', to: 'waiting', reason: '' },
  { kind: 'input.queued', input: 'i2', text: LATER },
  { kind: 'input.sent', input: 'i1', text: TICKET },
  { kind: 'input.sent', input: 'i2', text: LATER },
  { kind: 'session.state', from: 'waiting', to: 'working', reason: '' },
  { kind: 'turn.started', turn: 1, inputs: ['i1', 'i2'] },
  { kind: 'input.delivered', input: 'i1', text: TICKET },
  { kind: 'input.delivered', input: 'i2', text: LATER },
  { kind: 'tool.call', turn: 1, callId: 'c1' },
  { kind: 'tool.result', turn: 1, callId: 'c1' },
  { kind: 'assistant.text', turn: 1, text: `${ANSWER} It is done.` },
  { kind: 'turn.ended', turn: 1 },
  { kind: 'session.state', from: 'working', to: 'waiting', reason: '' },
]

const eventsOf = (of: readonly Record<string, unknown>[]) =>
  of.map((body, index) => ({ session: 's', seq: index + 1, ...body })) as unknown as TimelineEvent[]

const messages: readonly Message[] = [
  { role: 'user', content: `${TICKET}\n\n${LATER}` },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: `${ANSWER} It is done.` },
      { type: 'tool_use', id: 'c1', name: 'Bash', input: {} },
    ],
  },
]

function faults(change: {
  readonly events?: readonly Record<string, unknown>[]
  readonly messages?: readonly Message[]
  readonly states?: readonly [string, string]
  readonly shown?: readonly TimelineEvent[]
}): string[] {
  const events = eventsOf(change.events ?? bodies)
  const [first, second] = change.states ?? ['delivered', 'delivered']
  const place = { id: 's', ticket: 'T-1', agent: 'agent-1' }
  const held = {
    session: {
      ...{ ...place, state: 'waiting', turn: 1 },
      ...{ openRequests: 0, openQuestions: 0, lastSeq: events.length },
    },
    events,
    inputs: [
      { id: 'i1', text: TICKET, state: first },
      { id: 'i2', text: LATER, state: second },
    ],
    said: [
      { session: 's', word: TICKET, withdrawn: [], input: null, outcome: 'taken' },
      { session: 's', word: LATER, withdrawn: ['<said-1-9>'], input: 'i2', outcome: 'taken' },
    ],
    follower: { shown: change.shown ?? events, faults: () => [] },
    requests: [{ n: 1, messages: change.messages ?? messages } as unknown as RecordedRequest],
  }
  return sessionFaults(held as unknown as Held)
}

it('finds nothing where everything was kept', () => {
  expect(faults({})).toEqual([])
})

it('finds an input that the model got twice, or not at all', () => {
  const [, answer] = messages
  if (answer === undefined) throw new Error('no answer')
  const twice = [...messages, { role: 'user', content: LATER }]
  expect(faults({ messages: twice })).toEqual([`T-1: ${LATER} stands 2 times in request 1`])
  expect(faults({ messages: [{ role: 'user', content: LATER }, answer] })).toEqual([
    `T-1: ${TICKET} was delivered, and the model does not see it`,
  ])
})

it('finds an input that is told to be queued and was given to the model', () => {
  expect(faults({ states: ['delivered', 'cancelled'] })).toEqual([
    `T-1: ${LATER} is cancelled, told is delivered`,
    `T-1: ${LATER} is cancelled, and the model sees it`,
  ])
})

it('finds a text that was edited and given to the model all the same', () => {
  const [first, ...others] = messages
  const old = { role: 'user', content: `${first?.content} <said-1-9>` }
  expect(faults({ messages: [old, ...others] })).toEqual([
    'T-1: <said-1-9> was edited, and stands in request 1',
  ])
})

it('finds what the model said or did and the timeline does not tell, or tells twice', () => {
  const without = (kind: string) => bodies.filter((body) => !String(body.kind).startsWith(kind))
  expect(faults({ events: without('assistant') })).toEqual([
    `T-1: the answer ${ANSWER} stands 0 times in the timeline`,
  ])
  expect(faults({ events: without('tool') })).toEqual(['T-1: the call c1 is not in the timeline'])
  const doubled = bodies.flatMap((body) => (body.kind === 'assistant.text' ? [body, body] : [body]))
  expect(faults({ events: doubled })).toEqual([
    `T-1: the answer ${ANSWER} stands 2 times in the timeline`,
  ])
})

it('takes a block that was cut and is recovered whole for one, and nothing else', () => {
  const cutBefore = (cut: object, block = 'b1') =>
    bodies.flatMap((body): Record<string, unknown>[] =>
      body.kind === 'assistant.text'
        ? [
            { ...body, partial: true, ...cut },
            { ...body, block },
          ]
        : [body],
    )
  const half = `${ANSWER} It`
  expect(faults({ events: cutBefore({ text: half, block: 'b1' }) })).toEqual([])
  const twice = [`T-1: the answer ${ANSWER} stands 2 times in the timeline`]
  expect(faults({ events: cutBefore({ text: half, block: 'b2' }) })).toEqual(twice)
  expect(faults({ events: cutBefore({ text: half }) })).toEqual(twice)
  expect(faults({ events: cutBefore({ text: `${half} was`, block: 'b1' }) })).toEqual(twice)
})

it('takes a turn whose message the runtime had not recorded for none of the conversation', () => {
  const turn = bodies.findIndex(({ kind }) => kind === 'turn.started')
  const [before, after] = [bodies.slice(0, turn), bodies.slice(turn)]
  const cut = (middle: readonly Record<string, unknown>[], reason = 'killed') => [
    ...before,
    { kind: 'turn.started', turn: 1, inputs: ['i1', 'i2'] },
    { kind: 'assistant.text', turn: 1, text: `${ANSWER} It is done.`, block: 'b0' },
    { kind: 'turn.ended', turn: 1, reason },
    ...middle,
    ...after.map((body) => ('turn' in body ? { ...body, turn: 2 } : body)),
  ]
  const again = [
    { kind: 'input.queued', input: 'i1', text: TICKET },
    { kind: 'input.queued', input: 'i2', text: LATER },
  ]
  const twice = `T-1: the answer ${ANSWER} stands 2 times in the timeline`
  const only = (events: readonly Record<string, unknown>[]) =>
    faults({ events }).filter((fault) => fault.includes('the answer'))
  expect(only(cut(again))).toEqual([])
  expect(only(cut(again.slice(1)))).toEqual([twice])
  expect(only(cut([]))).toEqual([twice])
  expect(only(cut(again, 'completed'))).toEqual([twice])
  const kept = { kind: 'input.delivered', input: 'i1', text: TICKET }
  expect(only(cut([kept, ...again]))).toEqual([twice])
})

it('finds an event that was shown and is lost or another one now', () => {
  const shown = [...eventsOf(bodies), ...eventsOf([{ kind: 'notice', seq: 17 }])]
  expect(faults({ shown })).toEqual(['T-1: event 17 was shown, and is not stored as it was shown'])
})

it('finds agents and sessions that do not agree', () => {
  const session = { id: 's', ticket: 'T-1', agent: 'agent-1' } as unknown as Session
  const agent = { id: 'agent-1', state: 'busy', session: 's' }
  const fleet = (change: object) =>
    [{ ...agent, ...change }] as unknown as Parameters<typeof rowFaults>[1]
  expect(rowFaults([session], fleet({}))).toEqual([])
  expect(rowFaults([], fleet({}))).toHaveLength(2)
  expect(rowFaults([session], fleet({ state: 'idle', session: null }))).toHaveLength(2)
  expect(rowFaults([session], fleet({ id: 'agent-2', session: null, state: 'idle' }))).toEqual([
    'T-1 is with agent-1, which is not in the fleet',
  ])
})
