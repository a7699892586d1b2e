import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BRANCH_MOVED, RECORD_BEHIND, WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import { RequestId } from '../../src-shared/ids.ts'
import { ParkStep } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { asked, questionId, startWithoutPlanner } from '../testing/asking.ts'
import type { FakeAgent } from '../testing/fake-agent.ts'
import {
  refusalOf,
  startTestCore,
  TEST_KEY,
  type TestCore,
  withTicket,
} from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import {
  deliveries,
  inState,
  keptAway,
  keptOnDisk,
  letGo,
  pass,
  starting,
  stored,
  timeline,
  waiting,
  working,
} from '../testing/walks.ts'

const REQUEST = RequestId.parse('01930000-0000-7000-8000-0000000000a1')

const status = async ({ client }: TestCore, ticket: string) =>
  (await client.tickets.show({ ref: ticket })).status

async function nextStart(agent: FakeAgent) {
  await until('another start', () => agent.heard('session.start').length === 2)
  return agent.spec()
}

test('a session is parked by hand, and an answer brings it back where it was', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { ticket, agent } = await asked(core, 1)
  const { path, file } = await keptOnDisk(core, ticket.key)
  const parking = await core.client.sessions.park({ ref: ticket.key })
  expect(parking).toMatchObject({ state: 'parking', parkAt: null, reason: 'parked by a person' })
  const order = await until('the order', () => agent.heard('session.park')[0])
  expect(order).toMatchObject({ key: TEST_KEY, kept: [], fast: false })
  expect(order.keptDir).toBe(join(core.dir, 'kept', parking.id))

  await stored(agent, () => agent.park({ files: [file] }))
  // The agent still holds it, and removes the workspace now.
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    state: 'parked',
    agent: 'agent-1',
    hint: expect.stringContaining('Answer it'),
    parked: {
      ...{ why: 'person', commit: 'e'.repeat(40), pushed: true, keptBytes: file.bytes },
      ...{ stateBytes: 5, runtimeVersion: '2.1.332', wakes: false },
    },
  })
  await stored(agent, () => agent.end('parked', false))
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'parked', agent: null, workspace: null, openQuestions: 1 },
    pushedCommit: 'e'.repeat(40),
  })
  expect(await status(core, ticket.key)).toBe('Waiting for answer')
  // The agent takes other work.
  const other = await starting(core, 'Second')
  expect(other.agent).toBe(agent)
  other.agent.end('failed', false, { code: 'x', message: 'no' })

  await core.client.questions.answer({ ref: questionId(1), text: 'Blue' })
  await until('a third start', () => agent.heard('session.start').length === 3)
  const spec = agent.spec()
  expect(spec).toMatchObject({
    task: 'run',
    resume: { conversation: 'conversation-1' },
    parked: {
      key: TEST_KEY,
      keptDir: order.keptDir,
      work: { files: [file], snapshot: { manifest: 1 } },
    },
  })
  expect(await status(core, ticket.key)).toBe('In progress')
  agent.ready()
  const [, answer] = await deliveries(agent, 2)
  expect(answer?.text).toContain('Answer: Blue')
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ parked: null })
  // What is kept stays until it is replaced or not needed any more.
  expect(existsSync(path)).toBe(true)
})

test('what is kept is verified before anything is stored; what is not good ends the agent', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  const { path, file } = await keptOnDisk(core, ticket.key)
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  writeFileSync(path, 'the state as no disk should give it')
  agent.event({ kind: 'assistant.text', turn: 1, text: 'told before it' })
  agent.park({ files: [file] })
  const lost = await until('the loss', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.agent === null && session
  })
  const texts = (events: readonly TimelineEvent[]) =>
    events.flatMap((event) => (event.kind === 'assistant.text' ? [event.text] : []))
  expect(texts(await timeline(core, ticket.key))).toContain('told before it')
  expect(lost).toMatchObject({
    state: 'parking',
    parked: null,
    reason: expect.stringContaining(path),
  })
  expect(lost.workspace).not.toBeNull()
  // The next agent does it again, from what is on disk.
  core.clock.turn(1_000)
  const next = await until('the next agent', () => {
    const latest = core.launcher.agent('agent-1')
    return latest !== agent && latest.heard('session.park').length === 1 && latest
  })
  // Its push is on record; what it kept is not.
  const pushedCommit = 'e'.repeat(40)
  expect(next.spec()).toMatchObject({ task: 'park', parked: null, pushedCommit })
  const { file: good } = await keptOnDisk(core, ticket.key, 'state-2.sealed')
  expect(await letGo(core, ticket.key, next, { files: [good] })).toMatchObject({ state: 'parked' })
})

test('of what an agent left with a parking that is not good the rest is stored', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(first)
  const { path, file } = await keptOnDisk(first, ticket.key)
  await first.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  const from = (agent.heard('items.ack').at(-1)?.n ?? 0) + 1
  const at = first.clock.now()
  const { saga } = agent.heard('session.park').at(-1) ?? {}
  const text = { kind: 'assistant.text', turn: 1, text: 'left' }
  const work = {
    ...{ commit: null, pushed: true, notPushed: null, files: [file], state: null, aside: [] },
    snapshot: null,
  }
  const items = [
    { type: 'event', at, event: text },
    { type: 'parked', at, saga, work },
  ]
  writeFileSync(path, 'another content')
  const content = { lease: agent.spec().lease, from, items, blobs: [] }
  const second = await first.restart({ spool: [{ name: 'left.json', content }] })
  expect(await timeline(second, ticket.key)).toContainEqual(expect.objectContaining(text))
  expect(await second.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'parking', parked: null },
  })
})

test('an agent that dies while it parks is followed by one that needs no runtime; after three it is given up', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  const { saga } = agent.heard('session.park')[0] ?? {}
  agent.event({ kind: 'park.step', step: 'settle', status: 'started' })
  let latest = agent
  for (const deaths of [1, 2]) {
    latest.die()
    await until('the death', () =>
      core.storage
        .rows({ table: 'lease' })
        .then((rows) => rows.every(({ endedAt }) => endedAt !== null)),
    )
    core.clock.turn(5_000 * deaths)
    latest = await until('the next agent', () => {
      const found = core.launcher.agent('agent-1')
      return found !== latest && found.heard('session.park').length === 1 && found
    })
    // The same parking goes on.
    expect(latest.heard('session.park')[0]).toMatchObject({ saga, fast: false })
  }
  const session = await core.client.sessions.show({ ref: ticket.key })
  expect(session).toMatchObject({ state: 'parking', turnStartedAt: null })
  latest.die()
  const failed = await inState(core, ticket.key, 'failed')
  expect(failed).toMatchObject({ agent: null, hint: expect.stringContaining('try again') })
  expect(failed.workspace).not.toBeNull()
  const events = await timeline(core, ticket.key)
  expect(events.filter(({ kind }) => kind === 'turn.ended')).toMatchObject([{ reason: 'killed' }])
})

test('what arrives while it parks waits, and brings the session back as soon as it is parked', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  const input = await core.client.sessions.send({ ref: ticket.key, text: 'one more thing' })
  expect(input.state).toBe('queued')
  await stored(agent, () => agent.park())
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'resuming' })
  // Not before the agent has let go.
  expect(agent.heard('session.start')).toHaveLength(1)
  agent.end('parked', false)
  expect((await nextStart(agent)).parked).not.toBeNull()
  agent.ready()
  expect((await deliveries(agent, 2))[1]).toMatchObject({ inputs: [input.id] })
})

/** Says that each step before this one is done, and that this one began. */
function come(agent: FakeAgent, to: ParkStep) {
  const before = ParkStep.options.slice(0, ParkStep.options.indexOf(to))
  for (const step of before) agent.event({ kind: 'park.step', step, status: 'done', durationMs: 5 })
  agent.event({ kind: 'park.step', step: to, status: 'started' })
}

test.each(ParkStep.options)('an answer during the step %s is delivered, once', async (step) => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { ticket, agent } = await asked(core, 1)
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  const isStored = step === 'free'
  if (isStored) await stored(agent, () => agent.park())
  come(agent, step)
  await core.client.questions.answer({ ref: questionId(1), text: 'Blue' })
  expect(agent.heard('input.deliver')).toHaveLength(1)
  if (!isStored) await stored(agent, () => agent.park())
  await stored(agent, () => agent.end('parked', false))
  await nextStart(agent)
  agent.ready()
  expect((await deliveries(agent, 2))[1]?.text).toContain('Answer: Blue')
  agent.beginTurn(2)
  agent.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  expect(agent.heard('input.deliver')).toHaveLength(2)
})

test.each(ParkStep.options)('an agent’s death in the step %s loses nothing', async (step) => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  const isStored = step === 'free'
  if (isStored) await stored(agent, () => agent.park())
  await stored(agent, () => come(agent, step))
  agent.die()
  if (!isStored) {
    const other = await until('the other agent', () =>
      core.launcher.holders(ticket.key).find((holder) => holder !== agent),
    )
    expect(other.spec()).toMatchObject({ task: 'park', parked: null })
    await letGo(core, ticket.key, other)
  }
  await until('the end of it', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.state === 'parked' && session.agent === null && session.workspace === null
  })
  const leases = await core.storage.rows({ table: 'lease' })
  expect(leases.map(({ endedAt }) => endedAt === null)).toEqual(leases.map(() => false))
})

test('what was queued when a person parks it waits for them', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'later' })
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  agent.endTurn(1, 'interrupted')
  expect(await letGo(core, ticket.key, agent)).toMatchObject({ state: 'parked', queuedInputs: 1 })
  await settle()
  expect(agent.heard('session.start')).toHaveLength(1)
  await core.client.sessions.resume({ ref: ticket.key })
  await nextStart(agent)
  agent.ready()
  expect((await deliveries(agent, 2))[1]?.text).toBe('later')
})

test('park and resume at the same moment come to the same, whichever is first', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await waiting(core)
  await Promise.all([
    client.sessions.park({ ref: ticket.key }),
    client.sessions.resume({ ref: ticket.key }),
  ])
  // It waits already when the resume comes first; then it parks and comes back, or parks.
  await letGo(core, ticket.key, agent)
  const first = await client.sessions.show({ ref: ticket.key })
  expect(['resuming', 'parked']).toContain(first.state)
  if (first.state === 'parked') await client.sessions.resume({ ref: ticket.key })
  await nextStart(agent)
  agent.ready()
  await inState(core, ticket.key, 'waiting')
  await client.sessions.park({ ref: ticket.key })
  await client.sessions.resume({ ref: ticket.key })
  await client.sessions.park({ ref: ticket.key })
  await letGo(core, ticket.key, agent)
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'parked' })
  await settle()
  expect(agent.heard('session.start')).toHaveLength(2)
})

test('a parking that is refused leaves the session as it was, and is not tried again by itself', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await pass(core, 10 * 60_000)
  await until('the order', () => agent.heard('session.park').length === 1)
  const refusal = {
    code: 'workspace.too-large',
    message: 'It is too large.',
    hint: 'Make it smaller.',
  }
  agent.item({ type: 'refused', what: 'park', refusal })
  expect(await inState(core, ticket.key, 'waiting')).toMatchObject({
    ...{ reason: 'It is too large.', hint: 'Make it smaller.', parkAt: null, agent: 'agent-1' },
  })
  expect((await core.client.inbox.list()).map(({ kind, text }) => [kind, text])).toEqual([
    ['waiting', 'It is too large.'],
  ])
  await pass(core, 60 * 60_000)
  expect(agent.heard('session.park')).toHaveLength(1)
  // With the next wait it is.
  await core.client.sessions.send({ ref: ticket.key, text: 'smaller now' })
  await deliveries(agent, 2)
  agent.beginTurn(2)
  agent.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  await pass(core, 10 * 60_000)
  await until('the second order', () => agent.heard('session.park').length === 2)
})

test('without the data key nothing is parked, and nothing parked gets an agent for nothing', async () => {
  let isThere = false
  const key = async () => {
    if (isThere) return TEST_KEY
    throw new BalletError({
      code: 'key.wrapped',
      message: 'The key is wrapped.',
      hint: 'Export it.',
    })
  }
  const core = await startTestCore({ agents: 1, key })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.park({ ref: ticket.key })
  expect(
    await until('the refusal', async () => {
      const session = await core.client.sessions.show({ ref: ticket.key })
      return session.state === 'waiting' && session.reason !== '' && session
    }),
  ).toMatchObject({ reason: 'The key is wrapped.', hint: 'Export it.' })
  expect(agent.heard('session.park')).toEqual([])
  isThere = true
  await core.client.sessions.park({ ref: ticket.key })
  await letGo(core, ticket.key, agent)
  isThere = false
  await core.client.sessions.resume({ ref: ticket.key })
  expect(await inState(core, ticket.key, 'failed')).toMatchObject({ reason: 'The key is wrapped.' })
  isThere = true
  await core.client.sessions.resume({ ref: ticket.key })
  expect((await nextStart(agent)).parked).toMatchObject({ key: TEST_KEY })
  expect(JSON.stringify(core.logged)).not.toContain(TEST_KEY)
  expect(JSON.stringify(await core.storage.rows({ table: 'session' }))).not.toContain(TEST_KEY)
})

test('an agent that lost its lease cannot park what another one has', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.park({ ref: ticket.key })
  await until('the order', () => agent.heard('session.park').length === 1)
  // It goes on though it is taken for dead.
  agent.survives = true
  await pass(core, 25_000, [core.launcher.agent('agent-2')])
  const other = await until('the other agent', () => {
    const latest = core.launcher.holders(ticket.key).at(-1)
    return latest !== agent && latest?.heard('session.park').length === 1 && latest
  })
  agent.park()
  await settle()
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    state: 'parking',
    parked: null,
  })
  expect(await letGo(core, ticket.key, other, { commit: 'f'.repeat(40) })).toMatchObject({
    state: 'parked',
    parked: { commit: 'f'.repeat(40) },
  })
})

test('a request outlives its parking; allowing it brings the session back with a word on it', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  agent.ask(REQUEST)
  const waits = await until('the request', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.openRequests === 1 && session
  })
  expect(waits.parkAt).not.toBeNull()
  await pass(core, 10 * 60_000)
  await until('the order', () => agent.heard('session.park').length === 1)
  agent.endTurn(1, 'interrupted')
  agent.item({ type: 'request.withdrawn', request: REQUEST })
  await letGo(core, ticket.key, agent)
  expect(await core.client.requests.show({ ref: REQUEST })).toMatchObject({
    state: 'open',
    waits: false,
  })
  expect((await core.client.inbox.list()).map(({ kind }) => kind)).toEqual(['request'])
  await core.client.requests.allow({ ref: REQUEST })
  await nextStart(agent)
  agent.ready()
  expect((await deliveries(agent, 2))[1]?.text).toContain('was allowed; it has not run yet')
})

test.each([BRANCH_MOVED, RECORD_BEHIND, WORKSPACE_GONE])(
  'what %s says is told with the next delivery, once it arrives',
  async (code) => {
    const core = await startTestCore({ agents: 1 })
    const { ticket, agent } = await keptAway(core)
    await core.client.sessions.send({ ref: ticket.key, text: 'go on' })
    await nextStart(agent)
    const text = 'Somebody did something.'
    agent.event({ kind: 'notice', level: 'warning', code, text })
    agent.ready()
    const [, first] = await deliveries(agent, 2)
    expect(first).toMatchObject({ text: 'go on', preface: text })
    // It was not taken: the next try says it again.
    agent.item({ type: 'undelivered', delivery: first?.id as never, fate: 'never', reason: 'died' })
    const [, , again] = await deliveries(agent, 3)
    expect(again?.preface).toBe(text)
    agent.beginTurn(2)
    agent.endTurn(2)
    await inState(core, ticket.key, 'waiting')
    await core.client.sessions.send({ ref: ticket.key, text: 'and now?' })
    expect((await deliveries(agent, 4))[3]?.preface).toBeUndefined()
  },
)

test('a lost conversation is followed by a new one, which knows the ticket, what was, and what was asked', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { ticket, agent } = await asked(core, 1)
  await core.client.sessions.park({ ref: ticket.key })
  await letGo(core, ticket.key, agent)
  await core.client.questions.answer({ ref: questionId(1), text: 'Blue' })
  await nextStart(agent)
  agent.end('failed', true, { code: 'runtime.conversation-lost', message: 'It is corrupt.' })
  await until('a third start', () => agent.heard('session.start').length === 3)
  // The work is in the workspace by now; the state is not tried again.
  expect(agent.spec()).toMatchObject({
    parked: { restored: true, work: { state: null } },
    resume: { conversation: null },
  })
  agent.items([{ type: 'ready', conversation: 'conversation-2', runtimeVersion: '2.1.332' }])
  const [, anew] = await deliveries(agent, 2)
  for (const part of ['Add a button', 'Which colour has button 1?', 'Answer: Blue']) {
    expect(anew?.text).toContain(part)
  }
  // The answer itself comes last.
  expect(anew?.text.indexOf('# What you asked')).toBeLessThan(
    anew?.text.lastIndexOf('Answer to SHOP-1-Q1') ?? 0,
  )
  const notices = (await timeline(core, ticket.key)).filter(({ kind }) => kind === 'notice')
  expect(notices).toMatchObject([
    { code: 'conversation.anew', text: expect.stringContaining('It is corrupt.') },
  ])
  agent.beginTurn(2)
  agent.endTurn(2)
  expect(await inState(core, ticket.key, 'waiting')).toMatchObject({
    conversation: 'conversation-2',
  })
})

test('what is parked again replaces what was kept before; a deleted ticket leaves nothing', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  const first = await keptOnDisk(core, ticket.key, 'state-1.sealed')
  const same = await keptOnDisk(core, ticket.key, 'bundle-1.sealed')
  await core.client.sessions.park({ ref: ticket.key })
  await letGo(core, ticket.key, agent, { files: [first.file, same.file] })
  await core.client.sessions.resume({ ref: ticket.key })
  await nextStart(agent)
  agent.ready()
  await inState(core, ticket.key, 'waiting')
  expect(agent.heard('input.deliver')).toHaveLength(1)
  const second = await keptOnDisk(core, ticket.key, 'state-2.sealed')
  await core.client.sessions.park({ ref: ticket.key })
  const order = await until('the order', () => agent.heard('session.park')[1])
  expect(order.kept).toEqual([first.file, same.file])
  await letGo(core, ticket.key, agent, { files: [second.file, same.file] })
  await until('the removal', () => !existsSync(first.path))
  expect([second, same].map(({ path }) => existsSync(path))).toEqual([true, true])
  await core.client.tickets.delete({ ref: ticket.key })
  await until('the removal', () => !existsSync(second.path) && !existsSync(same.path))
})

test('what was kept is there for the next lease until the session parks with a workspace, also where it pushed more', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  const aside = await keptOnDisk(core, ticket.key, 'aside-1.sealed')
  const file = { ...aside.file, kind: 'aside' as const }
  await core.client.sessions.park({ ref: ticket.key })
  await letGo(core, ticket.key, agent, { files: [file] })
  await core.client.sessions.resume({ ref: ticket.key })
  await nextStart(agent)
  expect(agent.spec()).toMatchObject({ parked: { restored: false, work: { files: [file] } } })
  await stored(agent, () => agent.ready())
  const follow = async (from: FakeAgent) => {
    from.die()
    await inState(core, ticket.key, 'resuming')
    core.clock.turn(5_000)
    return until('the next agent', () => {
      const latest = core.launcher.agent('agent-1')
      return latest !== from && latest.heard('session.start').length === 1 && latest
    })
  }
  const next = await follow(agent)
  expect(next.spec()).toMatchObject({ parked: { restored: true, work: { files: [file] } } })
  await stored(next, () => next.ready())
  // It finds no workspace, and has nothing of what was kept.
  await core.client.sessions.park({ ref: ticket.key })
  await letGo(core, ticket.key, next, { commit: null, files: [], snapshot: null })
  await settle()
  expect(existsSync(aside.path)).toBe(true)
  await core.client.sessions.resume({ ref: ticket.key })
  await nextStart(next)
  expect(next.spec()).toMatchObject({ kept: ['aside-1.sealed'], parked: { restored: false } })
  await stored(next, () => next.ready())
  await stored(next, () => next.item({ type: 'pushed', commit: 'f'.repeat(40) }))
  const third = await follow(next)
  expect(third.spec()).toMatchObject({
    ...{ kept: ['aside-1.sealed'], pushedCommit: 'f'.repeat(40) },
    parked: { restored: true, behind: true, work: { files: [file] } },
  })
})

test('what holds no agent, or does not know yet what it holds, is not parked', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await starting(core)
  const queued = await withTicket(core, { title: 'Second' })
  const park = (ref: string) => refusalOf(client.sessions.park({ ref }))
  expect(await park(ticket.key)).toMatchObject({ code: 'session.starting' })
  expect(await park(queued.key)).toMatchObject({ code: 'session.queued' })
  agent.end('failed', false, { code: 'x', message: 'no' })
  await inState(core, ticket.key, 'failed')
  expect(await park(ticket.key)).toMatchObject({ code: 'session.failed', hint: expect.any(String) })
  await client.sessions.stop({ ref: ticket.key })
  // One that was stopped is away already.
  expect(await client.sessions.park({ ref: ticket.key })).toMatchObject({
    state: 'parked',
    parked: null,
  })
  // It has the agent by now, and waits for nobody.
  expect(await refusalOf(client.sessions.keep({ ref: queued.key }))).toMatchObject({
    code: 'session.starting',
    hint: expect.any(String),
  })
})
