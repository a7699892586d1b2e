import { expect, test } from 'vitest'
import { CommandId, RequestId } from '../../src-shared/ids.ts'
import type { FakeAgent } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, type TestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { deliveries, inState, timeline, working } from '../testing/walks.ts'

const requestId = (n: number) =>
  RequestId.parse(`01930000-0000-7000-a000-${String(n).padStart(12, '0')}`)
const commandId = (n: number) =>
  CommandId.parse(`01930000-0000-7000-b000-${String(n).padStart(12, '0')}`)
const ID = requestId(1)

/** A session in the middle of a turn that waits for permission. */
async function asking(core: TestCore) {
  const { ticket, agent } = await working(core)
  agent.ask(ID)
  await until('the request', async () => (await core.client.requests.list()).length === 1)
  return { ticket, agent, lease: agent.spec().lease }
}

/** An agent brings the session back under another lease, and says that it is ready. */
async function broughtBack(core: TestCore, ticket: string, lease: string) {
  const agent = await until('the session to be brought back', () => {
    const found = core.launcher.holders(ticket).at(-1)
    return found?.spec().lease !== lease && found
  })
  agent.ready()
  return agent
}

const closings = async (core: TestCore, ticket: string) =>
  (await timeline(core, ticket)).filter((event) => event.kind === 'request.closed')

const answersTo = (agent: FakeAgent, request: RequestId) =>
  agent.heard('request.answer').filter((answer) => answer.request === request)

const answered = (agent: FakeAgent, request: RequestId) =>
  until('the answer', () => answersTo(agent, request).length > 0 && answersTo(agent, request))

test('a request is a row, and the working session says that it waits', async () => {
  const core = await startTestCore()
  const { ticket } = await asking(core)
  const { client } = core
  const session = await client.sessions.show({ ref: ticket.key })
  expect(session).toMatchObject({
    state: 'working',
    reason: 'waits for permission: npm test',
    hint: 'Allow or deny it.',
    openRequests: 1,
  })
  expect(await client.requests.show({ ref: ID })).toMatchObject({
    id: ID,
    session: session.id,
    ticket: ticket.key,
    project: 'Shop',
    name: 'Bash',
    toolKind: 'execute',
    title: 'npm test',
    input: '{"command":"npm test"}',
    sessionRules: [],
    state: 'open',
    waits: true,
    author: null,
    text: null,
    turn: 1,
    answeredAt: null,
  })
  const { changes } = await client.records.follow({})
  expect(changes).toContainEqual(
    expect.objectContaining({ record: 'request', id: ID, value: expect.anything() }),
  )
})

test('allowed once goes to the runtime, and the session works on', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent } = await asking(core)
  const { cursor } = await client.records.follow({})
  const allowed = await client.requests.allow({ ref: ID })
  expect(allowed).toMatchObject({ state: 'allowed', author: 'person', waits: false })
  expect(await answered(agent, ID)).toMatchObject([{ outcome: 'allow' }])
  expect(answersTo(agent, ID)[0]?.grants).toBeUndefined()
  const { changes } = await client.records.follow({ cursor, waitMs: 0 })
  expect(changes).toContainEqual({ record: 'request', id: ID, value: null })
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({
    state: 'working',
    reason: '',
    hint: '',
    openRequests: 0,
  })
  agent.item({ type: 'request.answered', request: ID })
  agent.endTurn(1)
  await inState(core, ticket.key, 'waiting')
  expect(await closings(core, ticket.key)).toMatchObject([
    { request: ID, outcome: 'allowed', author: 'person', turn: 1 },
  ])
  expect((await core.storage.row('request', ID))?.phase).toBe('over')
})

test('a second answer is refused with the first one and its author; its own id repeats it', async () => {
  const core = await startTestCore()
  const { client } = core
  const { agent } = await asking(core)
  const deny = () => client.requests.deny({ ref: ID, text: 'not now', commandId: commandId(1) })
  const [first, second] = await Promise.all([
    deny(),
    refusalOf(client.requests.allow({ ref: ID, commandId: commandId(2) })),
  ])
  expect(first).toMatchObject({ state: 'denied', author: 'person', text: 'not now' })
  expect(second).toMatchObject({ code: 'request.closed' })
  expect(second.message).toBe('The request “npm test” was denied already, by a person (not now).')
  expect(await deny()).toEqual(first)
  expect(await answered(agent, ID)).toMatchObject([{ outcome: 'deny', text: 'not now' }])
  expect(await refusalOf(client.requests.allow({ ref: 'ffff-none' }))).toMatchObject({
    code: 'request.not-found',
  })
})

test('allowed for the session is kept for the runtimes to come, and answers the same call by itself', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent } = await working(core)
  const { lease } = agent.spec()
  const rules = [{ type: 'addRules', destination: 'session' }]
  const facts = { digest: 'd'.repeat(64), rules, ruleTexts: ['Bash(npm test:*)'] }
  agent.ask(ID, 'npm test', facts)
  await until('the request', async () => (await client.requests.list()).length === 1)
  expect((await client.requests.show({ ref: ID })).sessionRules).toEqual(['Bash(npm test:*)'])
  expect(await client.requests.allow({ ref: ID, forSession: true })).toMatchObject({
    state: 'allowed-for-session',
  })
  const grants = [{ digest: facts.digest, rules }]
  expect(await answered(agent, ID)).toMatchObject([{ outcome: 'allow-for-session', grants }])
  agent.item({ type: 'request.answered', request: ID })
  agent.ask(requestId(2), 'npm test', facts)
  agent.ask(requestId(3), 'npm publish')
  await until(
    'the third request',
    async () => (await client.requests.list({ state: 'open' })).length === 1,
  )
  expect(await answered(agent, requestId(2))).toMatchObject([{ outcome: 'allow-for-session' }])
  expect(answersTo(agent, requestId(3))).toEqual([])
  agent.die()
  const next = await broughtBack(core, ticket.key, lease)
  expect(next.spec().grants).toEqual(grants)
})

test.each([
  [
    'the runtime takes it back',
    (agent: FakeAgent) => agent.item({ type: 'request.withdrawn', request: ID }),
  ],
  ['its turn ends', (agent: FakeAgent) => agent.endTurn(1, 'interrupted')],
] as const)('a request is withdrawn when %s', async (_, end) => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent } = await asking(core)
  end(agent)
  await until('the end of the request', async () => {
    return (await client.requests.show({ ref: ID })).state === 'withdrawn'
  })
  expect(await client.requests.show({ ref: ID })).toMatchObject({ author: 'ballet', waits: false })
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({
    openRequests: 0,
    reason: expect.not.stringContaining('permission'),
  })
  expect(await closings(core, ticket.key)).toMatchObject([
    { outcome: 'withdrawn', author: 'ballet' },
  ])
  const refused = await refusalOf(client.requests.allow({ ref: ID }))
  expect(refused.message).toContain('was withdrawn already, by Ballet')
})

const deaths: [string, (core: TestCore, agent: FakeAgent) => Promise<TestCore>][] = [
  [
    'the agent',
    async (core, agent) => {
      agent.die()
      return core
    },
  ],
  ['the host', (core) => core.restart()],
]

test.each(deaths)(
  'an open request outlives %s: allowed late, the identical call runs once without asking',
  async (_, die) => {
    const first = await startTestCore()
    const { ticket, agent, lease } = await asking(first)
    const core = await die(first, agent)
    const { client } = core
    const next = await broughtBack(core, ticket.key, lease)
    const waiting = await inState(core, ticket.key, 'waiting')
    expect(waiting).toMatchObject({
      openRequests: 1,
      hint: 'Answer its request or send a message to go on.',
    })
    expect(await client.requests.list({ state: 'open' })).toMatchObject([{ id: ID, waits: false }])

    await client.requests.allow({ ref: ID })
    const [delivery] = await deliveries(next, 1)
    expect(delivery?.text).toContain('Your request for Bash (npm test) was allowed')
    expect(delivery?.preface).toContain('cut off')
    const [told] = await client.sessions.inputs({ ref: ticket.key, state: 'sent' })
    expect(told).toMatchObject({ inputKind: 'answer', author: 'ballet' })

    next.beginTurn(2)
    next.ask(requestId(2))
    next.ask(requestId(3))
    await until(
      'the third request',
      async () => (await client.requests.list({ state: 'open' })).length === 1,
    )
    expect(await answered(next, requestId(2))).toMatchObject([{ outcome: 'allow' }])
    expect(answersTo(next, requestId(3))).toEqual([])
    expect(await client.requests.show({ ref: requestId(2) })).toMatchObject({
      state: 'allowed',
      author: 'person',
      text: 'allowed before',
    })
  },
)

test.each(deaths)(
  'an open request outlives %s: denied late, the runtime gets the reason',
  async (_, die) => {
    const first = await startTestCore()
    const { ticket, agent, lease } = await asking(first)
    const core = await die(first, agent)
    const next = await broughtBack(core, ticket.key, lease)
    await inState(core, ticket.key, 'waiting')
    await core.client.requests.deny({ ref: ID, text: 'use make' })
    const [delivery] = await deliveries(next, 1)
    expect(delivery?.text).toContain('was denied. The reason: use make')
    next.beginTurn(2)
    next.ask(requestId(2))
    await until(
      'the second request',
      async () => (await core.client.requests.list({ state: 'open' })).length === 1,
    )
    expect(answersTo(next, requestId(2))).toEqual([])
  },
)

test.each(deaths)(
  'an answer that %s may have taken along is told, and allows nothing more by itself',
  async (_, die) => {
    const first = await startTestCore()
    const { ticket, agent, lease } = await asking(first)
    await first.client.requests.allow({ ref: ID })
    const core = await die(first, agent)
    const next = await broughtBack(core, ticket.key, lease)
    const [delivery] = await deliveries(next, 1)
    expect(delivery?.text).toContain(
      'was allowed, but you were cut off before its result was known',
    )
    next.beginTurn(2)
    next.ask(requestId(2))
    await until(
      'it to be asked again',
      async () => (await core.client.requests.list({ state: 'open' })).length === 1,
    )
  },
)

test('an answer that the runtime has is no more than that after a death', async () => {
  const first = await startTestCore()
  const { ticket, agent, lease } = await asking(first)
  await first.client.requests.allow({ ref: ID })
  agent.item({ type: 'request.answered', request: ID })
  await until(
    'that it is stored',
    async () => (await first.storage.row('request', ID))?.phase === 'over',
  )
  const core = await first.restart()
  const next = await broughtBack(core, ticket.key, lease)
  await inState(core, ticket.key, 'waiting')
  await settle()
  expect(next.heard('input.deliver')).toEqual([])
})

test('an answer that did not reach its runtime is told to the one that goes on', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await asking(core)
  await core.client.requests.allow({ ref: ID })
  agent.endTurn(1, 'killed')
  agent.item({ type: 'request.unanswered', request: ID, reason: 'it does not run' })
  const [, second] = await deliveries(agent, 2)
  expect(second?.text).toContain('it has not run yet. Make exactly the same call again')
  agent.beginTurn(2)
  agent.ask(requestId(2))
  await until('the answer', () => answersTo(agent, requestId(2)).length === 1)
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ openRequests: 0 })
})

test('an answer that met an interrupt is told to nobody', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await asking(core)
  await core.client.sessions.interrupt({ ref: ticket.key })
  await core.client.requests.allow({ ref: ID })
  agent.item({ type: 'request.withdrawn', request: ID })
  agent.item({ type: 'request.unanswered', request: ID, reason: 'it does not wait any more' })
  agent.endTurn(1, 'interrupted')
  await inState(core, ticket.key, 'waiting')
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(1)
  expect(await closings(core, ticket.key)).toHaveLength(1)
})

test('a stopped session keeps its request, and an answer brings it back', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent, lease } = await asking(core)
  await client.sessions.stop({ ref: ticket.key })
  // As the runtime ends its turn when it is stopped.
  agent.item({ type: 'request.withdrawn', request: ID })
  agent.endTurn(1, 'interrupted')
  agent.end('stopped')
  expect(await inState(core, ticket.key, 'parked')).toMatchObject({ openRequests: 1 })
  expect(await closings(core, ticket.key)).toEqual([])
  const restarted = await core.restart()
  expect(await restarted.client.requests.list({ state: 'open' })).toMatchObject([
    { id: ID, waits: false },
  ])
  await restarted.client.requests.allow({ ref: ID, forSession: true })
  const next = await broughtBack(restarted, ticket.key, lease)
  expect(next.spec().grants).toHaveLength(1)
  const [delivery] = await deliveries(next, 1)
  expect(delivery?.text).toContain('was allowed')
  expect(await restarted.client.tickets.show({ ref: ticket.key })).toMatchObject({
    status: 'In progress',
  })
})

test('the same call asked again takes the place of the request that nobody waits for', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent, lease } = await asking(core)
  agent.die()
  const next = await broughtBack(core, ticket.key, lease)
  await inState(core, ticket.key, 'waiting')
  await client.sessions.send({ ref: ticket.key, text: 'go on' })
  await deliveries(next, 1)
  next.beginTurn(2)
  next.ask(requestId(2))
  await until('it to be asked again', async () => (await client.requests.list()).length === 2)
  expect(await client.requests.list()).toMatchObject([
    { id: ID, state: 'withdrawn', author: 'ballet', text: 'asked again' },
    { id: requestId(2), state: 'open', waits: true },
  ])
})

test('finishing withdraws what is open, and deleting the ticket removes it for who follows', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent } = await asking(core)
  await client.sessions.stop({ ref: ticket.key })
  agent.endTurn(1, 'interrupted')
  agent.end('stopped', false)
  await inState(core, ticket.key, 'parked')
  const kept = await client.records.follow({})
  expect(kept.changes.filter(({ record }) => record === 'request')).toHaveLength(1)
  await client.tickets.delete({ ref: ticket.key })
  const { changes } = await client.records.follow({ cursor: kept.cursor, waitMs: 0 })
  expect(changes).toContainEqual({ record: 'request', id: ID, value: null })
  expect(await client.requests.list()).toEqual([])

  const other = await working(core, 'Other')
  other.agent.ask(requestId(5))
  await until('the request', async () => (await client.requests.list()).length === 1)
  await client.sessions.stop({ ref: other.ticket.key })
  other.agent.endTurn(1, 'interrupted')
  other.agent.end('stopped', false)
  await inState(core, other.ticket.key, 'parked')
  await client.sessions.finish({ ref: other.ticket.key })
  expect(await client.requests.show({ ref: requestId(5) })).toMatchObject({
    state: 'withdrawn',
    author: 'ballet',
    text: 'the session is finished',
  })
})

test('a ticket that is cancelled withdraws what its stopped session asked', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent } = await asking(core)
  await client.sessions.stop({ ref: ticket.key })
  agent.endTurn(1, 'interrupted')
  agent.end('stopped')
  await inState(core, ticket.key, 'parked')
  await client.tickets.edit({ ref: ticket.key, title: 'Not this', status: 'Cancelled' })
  expect(await client.requests.show({ ref: ID })).toMatchObject({
    state: 'withdrawn',
    author: 'ballet',
    text: 'its ticket was closed',
  })
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({
    state: 'parked',
    title: 'Not this',
    openRequests: 0,
  })
  expect(await closings(core, ticket.key)).toMatchObject([{ outcome: 'withdrawn' }])
})

test('an answer to a session that failed brings it back', async () => {
  const core = await startTestCore()
  const { ticket, agent, lease } = await asking(core)
  agent.endTurn(1, 'killed')
  agent.end('failed', true, { code: 'runtime.crashing', message: 'It ended three times.' })
  await inState(core, ticket.key, 'failed')
  await core.client.requests.deny({ ref: ID })
  const next = await broughtBack(core, ticket.key, lease)
  const told = await until('the answer', () => next.heard('input.deliver')[1])
  expect(told.delivery.text).toContain('was denied.\nGo on without it.')
})
