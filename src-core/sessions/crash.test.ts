import { expect, test } from 'vitest'
import type { SessionState } from '../../src-shared/records.ts'
import type { FakeAgent } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import {
  deliveries,
  inState,
  nextAgent,
  parked,
  starting,
  timeline,
  waiting,
  working,
} from '../testing/walks.ts'

/** Every row tells what is so: who holds what, what runs, what is open. */
async function expectTrueRows(core: TestCore) {
  const { storage } = core
  const sessions = await storage.rows({ table: 'session' })
  const leases = await storage.rows({ table: 'lease' })
  for (const session of sessions) {
    const open = leases.filter(({ sessionId, endedAt }) => sessionId === session.id && !endedAt)
    expect(open.map(({ id }) => id)).toEqual(session.leaseId === null ? [] : [session.leaseId])
    expect(session.agent === null).toBe(session.leaseId === null)
    if (['working', 'waiting', 'starting'].includes(session.state)) {
      expect(session.leaseId).not.toBeNull()
    }
    if (session.turnStartedAt !== null) expect(session.state).toBe('working')
    const { events, last } = await storage.timeline(session.id, { limit: 10_000 })
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(last).toBe(session.lastSeq)
    const begun = events.filter(({ kind }) => kind === 'turn.started').length
    const ended = events.filter(({ kind }) => kind === 'turn.ended').length
    expect(begun - ended).toBe(session.turnStartedAt === null ? 0 : 1)
    const states = events.filter((event) => event.kind === 'session.state')
    expect(states.at(-1)).toMatchObject({ to: session.state })
    for (const [index, event] of states.entries()) {
      expect(event.from).toBe(index === 0 ? null : states[index - 1]?.to)
    }
  }
}

type Walk = (core: TestCore) => Promise<{ ticket: { key: string }; agent: FakeAgent }>

async function resuming(core: TestCore) {
  const { ticket, agent } = await parked(core)
  await core.client.tickets.start({ ref: ticket.key })
  await until('a second start', () => agent.heard('session.start').length === 2)
  return { ticket, agent }
}

async function stopping(core: TestCore) {
  const walked = await working(core)
  await core.client.sessions.stop({ ref: walked.ticket.key })
  return walked
}

async function finishing(core: TestCore) {
  const walked = await waiting(core)
  await core.client.sessions.finish({ ref: walked.ticket.key })
  return walked
}

async function interrupting(core: TestCore) {
  const walked = await working(core)
  await core.client.sessions.interrupt({ ref: walked.ticket.key, text: 'no' })
  return walked
}

const walks: [string, Walk, SessionState][] = [
  ['starting', starting, 'resuming'],
  ['working', working, 'resuming'],
  ['waiting', waiting, 'resuming'],
  ['resuming', resuming, 'resuming'],
  ['parked', parked, 'parked'],
  ['stopping', stopping, 'parked'],
  ['finishing', finishing, 'resuming'],
  ['interrupting', interrupting, 'resuming'],
]

test.each(walks)('an agent dies while its session is %s', async (_, walk, after) => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await walk(core)
  await expectTrueRows(core)
  agent.die()
  await until('the agent to be offline', async () => {
    const [seen] = await core.client.agents.list()
    return seen?.state === 'offline'
  })
  await inState(core, ticket.key, after)
  await expectTrueRows(core)
  const [row] = await core.storage.rows({ table: 'session' })
  expect(row?.pending).toBe(after === 'resuming' && walk === finishing ? 'finish' : null)
  const [seen] = await core.client.agents.list()
  expect(seen).toMatchObject({
    state: 'offline',
    session: null,
    pid: null,
    reason: 'died (SIGKILL)',
    restarts: 1,
  })
})

test.each(walks)('the host dies while a session is %s', async (name, walk, afterAgent) => {
  // Nobody needs to hold a session to finish it.
  const after = name === 'finishing' ? 'finished' : afterAgent
  const first = await startTestCore({ agents: 1 })
  const { ticket } = await walk(first)
  const second = await first.restart()
  await inState(second, ticket.key, after)
  await settle()
  const [row] = await second.storage.rows({ table: 'session' })
  if (after === 'resuming') {
    const agent = await second.launcher.holder(ticket.key)
    const told = agent.told.map(({ type }) => type)
    expect(told.indexOf('probe')).toBeGreaterThan(-1)
    expect(told.indexOf('probe')).toBeLessThan(told.indexOf('session.start'))
    expect(agent.spec().resume).not.toBeNull()
    expect(row?.leaseId).toBe(agent.spec().lease)
  } else {
    expect(second.launcher.holders(ticket.key)).toEqual([])
  }
  await expectTrueRows(second)
})

test('a queued session and its order survive the host', async () => {
  const first = await startTestCore({ agents: 1 })
  await working(first)
  await withTicket(first, { title: 'Second' })
  const second = await first.restart({ agents: 2 })
  await second.launcher.holder('SHOP-2')
  expect((await second.client.sessions.show({ ref: 'SHOP-2' })).state).toBe('starting')
})

test('a cut turn is ended, what was shown of it kept, and the runtime told with the next message', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  agent.event({
    kind: 'tool.call',
    turn: 1,
    callId: 'call-1',
    name: 'Bash',
    toolKind: 'execute',
    title: 'sleep 300',
    input: '{}',
    ref: 'uuid-1',
  })
  agent.live('b7', 0, 'I was about')
  agent.live('b7', 11, ' to say')
  agent.sayAnything({
    type: 'live',
    lease: agent.spec().lease,
    block: 'out',
    kind: 'tool.output',
    callId: 'call-1',
    turn: 1,
    offset: 0,
    text: 'line 1\n',
  })
  await settle()
  agent.die()
  const session = await inState(core, ticket.key, 'resuming')
  expect(session.reason).toBe('agent-1 died (SIGKILL) in the middle of a turn')
  expect((await timeline(core, ticket.key)).slice(-5)).toMatchObject([
    { kind: 'tool.call', callId: 'call-1' },
    { kind: 'assistant.text', text: 'I was about to say', partial: true, block: 'b7', turn: 1 },
    { kind: 'tool.result', callId: 'call-1', status: 'unknown', output: 'line 1\n', turn: 1 },
    { kind: 'turn.ended', reason: 'killed', turn: 1 },
    { kind: 'session.state', from: 'working', to: 'resuming' },
  ])
  const followed = await core.client.timeline.follow({ session: session.id, after: 0, waitMs: 0 })
  expect(followed.blocks).toEqual([])

  // Processes are ended, by marker, before anything runs again.
  const next = await nextAgent(core, agent)
  const [reap] = next.heard('probe')
  expect(reap?.probe).toEqual({
    kind: 'reap',
    markers: [{ session: session.id, nonce: agent.spec().nonce }],
  })
  expect(next.spec().nonce).not.toBe(agent.spec().nonce)
  expect(next.spec().resume).toEqual({
    conversation: 'conversation-1',
    turn: 1,
    turnCut: true,
    recorded: true,
    openCalls: ['call-1'],
    storedRefs: ['uuid-1'],
    told: [{ ref: 'uuid-1', text: 'used Bash: sleep 300' }],
    openDeliveries: [],
    costUsd: 0,
  })
  next.ready()
  const back = await inState(core, ticket.key, 'waiting')
  expect(back).toMatchObject({ reason: session.reason, hint: 'Send a message to go on.' })
  await core.client.sessions.send({ ref: ticket.key, text: 'go on' })
  const [delivery] = await deliveries(next, 1)
  expect(delivery?.preface).toContain(session.reason)
  next.beginTurn(2)
  next.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  await core.client.sessions.send({ ref: ticket.key, text: 'and on' })
  const [, later] = await deliveries(next, 2)
  expect(later?.preface).toBeUndefined()
})

test('a delivery in flight keeps its id until the next agent tells its fate', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'in flight' })
  const [, flying] = await deliveries(agent, 2)
  agent.die()
  await inState(core, ticket.key, 'resuming')
  const [sent] = await core.client.sessions.inputs({ ref: ticket.key, state: 'sent' })
  expect(sent?.delivery).toBe(flying?.id)
  await core.client.sessions.send({ ref: ticket.key, text: 'behind it' })

  const next = await nextAgent(core, agent)
  expect(next.spec().resume?.openDeliveries).toEqual([
    { id: flying?.id, inputs: flying?.inputs, steer: false },
  ])
  next.items([
    {
      type: 'undelivered',
      delivery: next.spec().resume?.openDeliveries[0]?.id ?? '',
      fate: 'never',
      reason: 'it died',
    } as never,
    { type: 'ready', conversation: 'conversation-1', runtimeVersion: '2.1.332' },
  ])
  const [again] = await deliveries(next, 1)
  expect(again?.text).toBe('in flight\n\nbehind it')
})

test('what began a cut turn, and was not recorded, is delivered again, and the timeline says so', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'in flight' })
  const [, flying] = await deliveries(agent, 2)
  agent.event({ kind: 'turn.started', turn: 2, inputs: flying?.inputs ?? [] })
  await inState(core, ticket.key, 'working')
  agent.die()
  await inState(core, ticket.key, 'resuming')
  const next = await nextAgent(core, agent)
  next.items([
    { type: 'undelivered', delivery: flying?.id as never, fate: 'never', reason: 'it died' },
    { type: 'ready', conversation: 'conversation-1', runtimeVersion: '2.1.332' },
  ])
  const [again] = await deliveries(next, 1)
  expect(again?.text).toBe('in flight')
  expect(again?.preface).toContain('cut off before its end')
  const lost = (await timeline(core, ticket.key)).filter(({ kind }) => kind === 'notice')
  expect(lost).toMatchObject([{ code: 'turn.lost', level: 'warning' }])
})

test('a fate that no agent tells becomes unknown, and holds up nothing', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'in flight' })
  await deliveries(agent, 2)
  agent.die()
  await inState(core, ticket.key, 'resuming')
  const next = await nextAgent(core, agent)
  next.ready()
  await inState(core, ticket.key, 'waiting')
  expect(await core.client.sessions.inputs({ ref: ticket.key, state: 'unknown' })).toHaveLength(1)
})

test('a turn that only the transcript knew of is ended when the session is ready', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'in flight' })
  const [, flying] = await deliveries(agent, 2)
  agent.die()
  await inState(core, ticket.key, 'resuming')
  const next = await nextAgent(core, agent)
  if (flying === undefined) throw new Error('no delivery')
  next.items([
    { type: 'delivered', delivery: flying.id },
    { type: 'event', event: { kind: 'turn.started', turn: 2, inputs: flying.inputs } },
    {
      type: 'event',
      event: {
        kind: 'tool.call',
        turn: 2,
        callId: 'call-9',
        name: 'Read',
        toolKind: 'read',
        title: 'a.txt',
        input: '{}',
      },
    },
  ])
  next.ready()
  await inState(core, ticket.key, 'waiting')
  await expectTrueRows(core)
  expect((await timeline(core, ticket.key)).slice(-3)).toMatchObject([
    { kind: 'tool.result', callId: 'call-9', status: 'unknown' },
    { kind: 'turn.ended', turn: 2, reason: 'killed' },
    { kind: 'session.state', to: 'waiting' },
  ])
})

test('agents that die before the session is ready, again and again, do not go on for ever', async () => {
  const core = await startTestCore({ agents: 1 })
  const ticket = await withTicket(core)
  for (let count = 1; count <= 3; count += 1) {
    const agent = await until(`start ${count}`, () => {
      const latest = core.launcher.launched.at(-1)?.fake
      return latest?.heard('session.start').length === 1 && latest
    })
    agent.die('segmentation fault')
    await until(`end ${count}`, async () => {
      const leases = await core.storage.rows({ table: 'lease' })
      return leases.length === count && leases.every(({ endedAt }) => endedAt !== null)
    })
    core.clock.turn(4_000)
  }
  const failed = await inState(core, ticket.key, 'failed')
  expect(failed.reason).toContain('in a row before the session was ready')
  expect(failed.queuedInputs).toBe(1)
  await core.client.tickets.start({ ref: ticket.key })
  await until(
    'another try',
    () => core.launcher.launched.at(-1)?.fake.heard('session.start').length,
  )
})

test('a session waits until what it left running is certainly gone', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await working(core)
  core.launcher.answer = (probe) =>
    probe.kind === 'reap'
      ? { code: 'reap.failed', message: 'A process does not end.', hint: 'See pid 7.' }
      : undefined
  agent.die()
  await inState(core, ticket.key, 'resuming')
  await settle()
  expect(core.launcher.holders(ticket.key)).toEqual([agent])
  // Others are not held up by it.
  await withTicket(core, { title: 'Other' })
  await core.launcher.holder('SHOP-2')
  core.launcher.answer = (probe) =>
    probe.kind === 'reap' ? { kind: 'reap', ended: [] } : undefined
  core.clock.turn(1_000)
  await until('the session to go on', () => core.launcher.holders(ticket.key).length === 2)
})

test.each([{ cut: false }, { cut: true }])(
  'a turn that ended while there was no host has its message, unless it was cut: %o',
  async ({ cut }) => {
    const first = await startTestCore({ agents: 1 })
    const { ticket, agent } = await waiting(first)
    await first.client.sessions.send({ ref: ticket.key, text: 'Begin this.' })
    const [, delivery] = await deliveries(agent, 2)
    const { inputs = [] } = delivery ?? {}
    const begun = agent.event({ kind: 'turn.started', turn: 2, inputs })
    await until('the turn', async () =>
      (await timeline(first, ticket.key)).some(({ turn }) => turn === 2),
    )
    const { lease, from } = begun as { lease: string; from: number }
    const ended = {
      ...{ kind: 'turn.ended', turn: 2, reason: 'interrupted', durationMs: 1, costUsd: 0 },
      usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
      ...(cut ? { cut } : {}),
    }
    const items = [{ type: 'event', at: first.clock.now(), event: ended }]
    const content = { lease, from: from + 1, items, blobs: [] }
    const second = await first.restart({ spool: [{ name: `${lease}.json`, content }] })
    const rows = await second.storage.rows({ table: 'input' })
    expect(rows.find(({ text }) => text === 'Begin this.')?.state).toBe(cut ? 'sent' : 'delivered')
    const spec = (await second.launcher.holder(ticket.key)).spec()
    expect(spec.resume).toMatchObject({ turn: 2, turnCut: cut })
    expect(spec.resume?.openDeliveries).toHaveLength(cut ? 1 : 0)
  },
)

test('what an agent left in the spool is stored once, before anything else', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(first)
  const heard = agent.heard('items.ack').at(-1)?.n ?? 0
  const lost = { ...(agent.event({ kind: 'assistant.text', turn: 1, text: 'seen' }) as object) }
  await until('the event', async () =>
    (await timeline(first, ticket.key)).some((event) => event.kind === 'assistant.text'),
  )
  const batch = lost as { lease: string; from: number; items: unknown[] }
  const more = {
    lease: batch.lease,
    from: batch.from,
    items: [
      ...batch.items,
      {
        type: 'event',
        at: first.clock.now(),
        event: { kind: 'assistant.text', turn: 1, text: 'left' },
      },
      {
        type: 'event',
        at: first.clock.now(),
        event: {
          kind: 'turn.ended',
          turn: 1,
          reason: 'killed',
          durationMs: 1,
          usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
          costUsd: 0,
          detail: 'Ballet ended while the turn was running.',
        },
      },
    ],
    blobs: [],
  }
  expect(heard).toBeGreaterThan(0)
  const spool = [
    { name: `${batch.lease}.json`, content: more },
    { name: 'half.json', content: undefined },
  ]
  const second = await first.restart({ spool })
  expect(spool.map(({ name }) => name)).toEqual(['half.json'])
  const texts = (await timeline(second, ticket.key)).flatMap((event) =>
    event.kind === 'assistant.text' ? [event.text] : [],
  )
  expect(texts).toEqual(['seen', 'left'])
  await expectTrueRows(second)
  const agentNow = await second.launcher.holder(ticket.key)
  expect(agentNow.spec().resume).toMatchObject({ turn: 1, turnCut: true })

  // A newer lease exists by now: the same file once more changes nothing.
  const third = await second.restart({ spool: [{ name: 'again.json', content: more }] })
  expect(third.spool).toEqual([])
  expect(
    (await timeline(third, ticket.key)).filter(({ kind }) => kind === 'assistant.text'),
  ).toHaveLength(2)
})

test('an agent may leave more than one message carries', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(first)
  await settle()
  const from = (agent.heard('items.ack').at(-1)?.n ?? 0) + 1
  const item = {
    type: 'event',
    at: first.clock.now(),
    event: { kind: 'assistant.text', turn: 1, text: 'left' },
  }
  const content = { lease: agent.spec().lease, from, items: Array(2_500).fill(item), blobs: [] }
  const second = await first.restart({ spool: [{ name: 'many.json', content }] })
  const { last } = await second.client.timeline.page({ session: ticket.key, limit: 1 })
  expect(last).toBeGreaterThan(2_500)
  expect(second.spool).toEqual([])
})

test('what an agent left is stored also where a power cut took what came before', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(first)
  await settle()
  const from = (agent.heard('items.ack').at(-1)?.n ?? 0) + 5
  const item = {
    type: 'event',
    at: first.clock.now(),
    event: { kind: 'assistant.text', turn: 1, text: 'left' },
  }
  const content = { lease: agent.spec().lease, from, items: [item], blobs: [] }
  const second = await first.restart({ spool: [{ name: 'after.json', content }] })
  const texts = (await timeline(second, ticket.key)).filter(({ kind }) => kind === 'assistant.text')
  expect(texts).toMatchObject([{ text: 'left' }])
  expect(second.spool).toEqual([])
})

test('batches that come twice, overlap, or leave a gap are stored once and in order', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  const said = agent.event({ kind: 'assistant.text', turn: 1, text: 'one' }) as { from: number }
  agent.sayAnything(said)
  const texts = async () =>
    (await timeline(core, ticket.key)).flatMap((event) =>
      event.kind === 'assistant.text' ? [event.text] : [],
    )
  const item = (text: string) => ({
    type: 'event',
    at: core.clock.now(),
    event: { kind: 'assistant.text', turn: 1, text },
  })
  const batch = (from: number, ...items: unknown[]) =>
    agent.sayAnything({ type: 'items', lease: agent.spec().lease, from, items, blobs: [] })
  batch(said.from + 2, item('three'))
  await settle()
  expect(await texts()).toEqual(['one'])
  expect(agent.heard('items.ack').at(-1)?.n).toBe(said.from)
  batch(said.from, item('one'), item('two'))
  batch(said.from + 1, item('two'), item('three'))
  await until('all three', async () => (await texts()).length === 3)
  expect(await texts()).toEqual(['one', 'two', 'three'])
  await until('the acknowledgement', () => agent.heard('items.ack').at(-1)?.n === said.from + 2)
})

test('items under a lease that is over, or another agent’s, are refused', async () => {
  const core = await startTestCore({ agents: 2 })
  const { ticket, agent } = await working(core)
  const other = core.launcher.launched.map(({ fake }) => fake).find((fake) => fake !== agent)
  const before = await timeline(core, ticket.key)
  other?.sayAnything({
    type: 'items',
    lease: agent.spec().lease,
    from: 100,
    items: [
      {
        type: 'event',
        at: core.clock.now(),
        event: { kind: 'assistant.text', turn: 1, text: 'not mine' },
      },
    ],
    blobs: [],
  })
  await until('the refusal', () => other?.heard('session.release').length === 1)
  expect(await timeline(core, ticket.key)).toEqual(before)
  expect(core.logged.some(({ message }) => message.includes('refused'))).toBe(true)

  // The last item, said again after the lease is over, is acknowledged: it is stored.
  agent.endTurn(1)
  const end = agent.item({ type: 'ended', outcome: 'stopped', kept: true })
  await inState(core, ticket.key, 'parked')
  const acks = agent.heard('items.ack').length
  agent.sayAnything(end)
  await until('the acknowledgement', () => agent.heard('items.ack').length > acks)
  expect(agent.heard('session.release')).toHaveLength(0)
})

test('a host that stops in order lets its agents end, and the next one goes on', async () => {
  const first = await startTestCore({ agents: 2 })
  const { ticket, agent } = await working(first)
  agent.obedient = false
  const stopped = first.core.stop()
  await until('the shutdown', () => agent.heard('shutdown').length === 1)
  agent.endTurn(1, 'killed')
  agent.die('ended in order', 0)
  await stopped
  const [row] = await first.storage.rows({ table: 'session' })
  expect(row).toMatchObject({ state: 'resuming', leaseId: null, turnCut: true })
  await expectTrueRows(first)
  expect(await refusalOf(first.client.projects.add({ name: 'x', repo: '/x' }))).toMatchObject({
    code: 'fleet.offline',
  })
  const second = await first.restart()
  await second.launcher.holder(ticket.key)
})
