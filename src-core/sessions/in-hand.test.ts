import { expect, test } from 'vitest'
import { InputId } from '../../src-shared/ids.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { SAMPLE_VERSIONS } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import {
  deliveries,
  inState,
  parked,
  starting,
  timeline,
  waiting,
  working,
} from '../testing/walks.ts'

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function queued(core: TestCore, ticket: string, ...texts: string[]) {
  const inputs = []
  for (const text of texts) inputs.push(await core.client.sessions.send({ ref: ticket, text }))
  return inputs.map(({ id }) => id)
}

const texts = async ({ client }: TestCore, ticket: string) =>
  (await client.sessions.inputs({ ref: ticket, state: 'queued' })).map(({ text }) => text)

const told = (events: readonly TimelineEvent[], input: string) =>
  events.flatMap((event) =>
    'input' in event && event.kind.startsWith('input.') && event.input === input
      ? [{ ...event, kind: event.kind as string }]
      : [],
  )

test('a queued message is edited; only the new text is delivered', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  const [id = ''] = await queued(core, ticket.key, 'paint it red')
  const edited = await core.client.inputs.edit({ ref: id, text: 'paint it blue' })
  expect(edited).toMatchObject({ id, state: 'queued', text: 'paint it blue' })
  // The same text again is no change.
  await core.client.inputs.edit({ ref: id.slice(0, 30), text: 'paint it blue' })
  agent.endTurn(1)
  const [, second] = await deliveries(agent, 2)
  expect(second?.text).toBe('paint it blue')
  expect(told(await timeline(core, ticket.key), id)).toMatchObject([
    { kind: 'input.queued', text: 'paint it red' },
    { kind: 'input.queued', text: 'paint it blue', change: 'edited' },
    { kind: 'input.sent' },
  ])
})

test('the first message of a session that never started is edited', async () => {
  const core = await startTestCore({ agents: 1 })
  await working(core)
  const ticket = await withTicket(core, { title: 'Second' })
  const [first] = await core.client.sessions.inputs({ ref: ticket.key })
  await core.client.inputs.edit({ ref: first?.id ?? '', text: 'do less' })
  expect(await texts(core, ticket.key)).toEqual(['do less'])
  const large = 'x'.repeat(1_000_000)
  await core.client.inputs.edit({ ref: first?.id ?? '', text: large })
  expect(await texts(core, ticket.key)).toEqual([large])
})

test('a cancelled message is never delivered, also when it is cancelled twice', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  const [one = '', two = ''] = await queued(core, ticket.key, 'one', 'two')
  const cancel = () => core.client.inputs.cancel({ ref: one })
  const both = await Promise.all([cancel(), cancel()])
  expect(both.map(({ state }) => state)).toEqual(['cancelled', 'cancelled'])
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ queuedInputs: 1 })
  agent.endTurn(1)
  const [, second] = await deliveries(agent, 2)
  expect(second).toMatchObject({ text: 'two', inputs: [two] })
  const events = told(await timeline(core, ticket.key), one)
  expect(events.map(({ kind }) => kind)).toEqual(['input.queued', 'input.cancelled'])
  expect(await refusalOf(core.client.inputs.edit({ ref: one, text: 'x' }))).toMatchObject({
    code: 'input.cancelled',
  })
  expect(await refusalOf(core.client.inputs.cancel({ ref: two }))).toMatchObject({
    code: 'input.sent',
    message: expect.stringContaining('is being delivered'),
  })
})

test('an edit and the delivery at the same moment: one of them comes first, and both know', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  const [id = ''] = await queued(core, ticket.key, 'before')
  agent.endTurn(1)
  const edit = await core.client.inputs.edit({ ref: id, text: 'after' }).then(
    () => 'after',
    () => 'before',
  )
  const [, second] = await deliveries(agent, 2)
  expect(second?.text).toBe(edit)
})

test('messages are moved within the queue, and delivered in the new order', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  const { inputs } = core.client
  const [a = '', b = '', c = ''] = await queued(core, ticket.key, 'a', 'b', 'c')
  await inputs.move({ ref: c, before: a })
  expect(await texts(core, ticket.key)).toEqual(['c', 'a', 'b'])
  await inputs.move({ ref: c, before: b })
  expect(await texts(core, ticket.key)).toEqual(['a', 'c', 'b'])
  await inputs.move({ ref: a, before: null })
  expect(await texts(core, ticket.key)).toEqual(['c', 'b', 'a'])
  const count = (await timeline(core, ticket.key)).length
  await inputs.move({ ref: a, before: null })
  await inputs.move({ ref: b, before: a })
  await inputs.move({ ref: b, before: b }).catch(() => undefined)
  expect(await timeline(core, ticket.key)).toHaveLength(count)
  await queued(core, ticket.key, 'd')
  agent.endTurn(1)
  expect((await deliveries(agent, 2))[1]?.text).toBe('c\n\nb\n\na\n\nd')
  expect(told(await timeline(core, ticket.key), c)).toMatchObject([
    { kind: 'input.queued' },
    { kind: 'input.queued', change: 'moved', before: a },
    { kind: 'input.queued', change: 'moved', before: b },
    { kind: 'input.sent' },
  ])
})

test('two windows that move again and again leave every message in the queue, once', async () => {
  const core = await startTestCore()
  const { ticket } = await working(core)
  const ids = await queued(core, ticket.key, ...'abcde')
  for (let round = 0; round < 60; round += 1) {
    const [first, second] = [ids[round % 5] ?? '', ids[(round * 2 + 1) % 5] ?? '']
    await Promise.all([
      core.client.inputs.move({ ref: first, before: ids[(round + 1) % 5] ?? '' }),
      core.client.inputs.move({ ref: second, before: round % 3 === 0 ? null : (ids[0] ?? '') }),
    ])
  }
  expect((await texts(core, ticket.key)).sort()).toEqual([...'abcde'])
  // The narrowest place there is, taken by turns.
  const order = await texts(core, ticket.key)
  const inputs = await core.client.sessions.inputs({ ref: ticket.key, state: 'queued' })
  const [p, q, r] = inputs.map(({ id }) => id)
  for (let round = 0; round < 60; round += 1) {
    await core.client.inputs.move({ ref: (round % 2 === 0 ? p : q) ?? '', before: r ?? '' })
  }
  const [x, y, ...rest] = await texts(core, ticket.key)
  expect([x, y].sort()).toEqual(order.slice(0, 2).sort())
  expect(rest).toEqual(order.slice(2))
})

test('a place is refused that is not in the queue of the session', async () => {
  const core = await startTestCore()
  const { ticket } = await working(core)
  const other = await working(core, 'Other')
  const [a = ''] = await queued(core, ticket.key, 'a')
  const [b = ''] = await queued(core, other.ticket.key, 'b')
  const first = (await core.client.sessions.inputs({ ref: ticket.key }))[0]?.id ?? ''
  const move = (before: string) => refusalOf(core.client.inputs.move({ ref: a, before }))
  expect(await move(b)).toMatchObject({ code: 'input.elsewhere' })
  expect(await move(first)).toMatchObject({ code: 'input.delivered' })
  expect(await move('ffff0000')).toMatchObject({ code: 'input.not-found' })
  expect(await refusalOf(core.client.inputs.cancel({ ref: 'ffff' }))).toMatchObject({
    code: 'input.not-found',
  })
  expect(await refusalOf(core.client.inputs.edit({ ref: a, text: '  ' }))).toMatchObject({
    code: 'input.invalid',
  })
})

test('order and edits outlive the host', async () => {
  const core = await startTestCore()
  const { ticket } = await working(core)
  const [a = '', b = ''] = await queued(core, ticket.key, 'a', 'b')
  await core.client.inputs.move({ ref: b, before: a })
  await core.client.inputs.edit({ ref: a, text: 'A' })
  const next = await core.restart()
  expect(await texts(next, ticket.key)).toEqual(['b', 'A'])
})

test('a stopped session keeps its queue in hand', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await parked(core)
  const other = await working(core, 'Other')
  const [id = ''] = await queued(core, ticket.key, 'go on')
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'resuming' })
  await core.client.inputs.cancel({ ref: id })
  expect(await texts(core, ticket.key)).toEqual([])
  expect(other.ticket.key).not.toBe(ticket.key)
})

test('a steered message goes to the running turn at once, before what is queued', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  await queued(core, ticket.key, 'later')
  const sent = await core.client.sessions.send({ ref: ticket.key, text: 'left!', steer: true })
  expect(sent).toMatchObject({ state: 'sent', steer: true })
  expect(sent.notSteered).toBeUndefined()
  const [, second] = await deliveries(agent, 2)
  expect(second).toMatchObject({ text: 'left!', steer: true, inputs: [sent.id] })
  agent.item({ type: 'delivered', delivery: second?.id ?? ('' as never), steer: true })
  agent.endTurn(1)
  const [, , third] = await deliveries(agent, 3)
  expect(third?.text).toBe('later')
  expect(told(await timeline(core, ticket.key), sent.id)).toMatchObject([
    { kind: 'input.queued' },
    { kind: 'input.sent', steer: true },
    { kind: 'input.delivered', steer: true },
  ])
})

test('a steered message that came too late begins the next turn, and what is queued waits for its end', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  await queued(core, ticket.key, 'later')
  const sent = await core.client.sessions.send({ ref: ticket.key, text: 'left!', steer: true })
  const [, second] = await deliveries(agent, 2)
  agent.endTurn(1)
  await inState(core, ticket.key, 'waiting')
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(2)
  agent.items([
    { type: 'event', event: { kind: 'turn.started', turn: 2, inputs: [sent.id] } },
    { type: 'delivered', delivery: second?.id ?? ('' as never) },
  ])
  await inState(core, ticket.key, 'working')
  agent.endTurn(2)
  expect((await deliveries(agent, 3))[2]?.text).toBe('later')
  const last = told(await timeline(core, ticket.key), sent.id).at(-1)
  expect(last).toMatchObject({ kind: 'input.delivered' })
  expect(last).not.toHaveProperty('steer')
  const rows = await core.client.sessions.inputs({ ref: ticket.key })
  expect(rows.find(({ id }) => id === sent.id)).toMatchObject({ steer: false })
})

test('what cannot be steered is queued, and the answer says why', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await waiting(core)
  const { sessions, inputs } = core.client
  const steer = (text: string) => sessions.send({ ref: ticket.key, text, steer: true })
  expect(await steer('no turn')).toMatchObject({
    state: 'sent',
    steer: false,
    notSteered: { code: 'steer.no-turn' },
  })
  await deliveries(agent, 2)
  agent.beginTurn(2)
  await until('the turn', async () => (await sessions.show({ ref: ticket.key })).turn === 2)
  await sessions.interrupt({ ref: ticket.key })
  const late = await steer('too late')
  expect(late).toMatchObject({ state: 'queued', notSteered: { code: 'steer.ending' } })
  expect(await refusalOf(inputs.steer({ ref: late.id }))).toMatchObject({ code: 'steer.ending' })
})

test('a runtime that takes neither is given neither', async () => {
  const capabilities = {
    resume: 'proven',
    steer: false,
    permissionRequests: true,
    cost: true,
    images: false,
    ...{ moves: true, mcp: true, usage: true, planner: true },
  } as const
  const core = await startTestCore({ capabilities })
  const { ticket } = await working(core)
  expect((await core.client.host.info()).runtimes).toEqual([
    { runtime: 'claude-code', capabilities, versions: SAMPLE_VERSIONS },
  ])
  const { sessions } = core.client
  expect(await sessions.send({ ref: ticket.key, text: 'left', steer: true })).toMatchObject({
    state: 'queued',
    notSteered: { code: 'steer.unsupported' },
  })
  const images = [{ mediaType: 'image/png' as const, data: PNG }]
  expect(await refusalOf(sessions.send({ ref: ticket.key, text: 'x', images }))).toMatchObject({
    code: 'image.unsupported',
  })
})

test('a queued message is turned into a steered one', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  const [a = '', b = ''] = await queued(core, ticket.key, 'a', 'b')
  expect(await core.client.inputs.steer({ ref: b })).toMatchObject({ state: 'sent', steer: true })
  const [, second] = await deliveries(agent, 2)
  expect(second).toMatchObject({ text: 'b', steer: true })
  expect(await texts(core, ticket.key)).toEqual(['a'])
  expect(await refusalOf(core.client.inputs.steer({ ref: b }))).toMatchObject({
    code: 'input.sent',
  })
  // Given back, it is where it was.
  agent.item({
    type: 'undelivered',
    delivery: second?.id ?? ('' as never),
    fate: 'never',
    reason: 'the turn was ended',
  })
  await until('it to be queued', async () => (await texts(core, ticket.key)).length === 2)
  expect(await texts(core, ticket.key)).toEqual(['a', 'b'])
  expect(a).not.toBe(b)
})

test('the death of an agent leaves the fate of each delivery open, steered ones too', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await starting(core)
  const agent = await core.launcher.holder(ticket.key)
  agent.ready()
  const [first] = await deliveries(agent, 1)
  agent.event({ kind: 'turn.started', turn: 1, inputs: first?.inputs ?? [] })
  await until('the turn', async () => (await core.client.sessions.show({ ref: ticket.key })).turn)
  await core.client.sessions.send({ ref: ticket.key, text: 'left!', steer: true })
  const [, second] = await deliveries(agent, 2)
  agent.die()
  await inState(core, ticket.key, 'resuming')
  core.clock.turn(1_000)
  const next = await until('the next agent', () => {
    const latest = core.launcher.agent('agent-1')
    return latest.heard('session.start').length === 1 && latest !== agent && latest
  })
  expect(next.spec().resume?.openDeliveries).toEqual([
    { id: first?.id, inputs: first?.inputs, steer: false },
    { id: second?.id, inputs: second?.inputs, steer: true },
  ])
  next.items([
    { type: 'delivered', delivery: first?.id ?? ('' as never) },
    { type: 'delivered', delivery: second?.id ?? ('' as never), steer: true },
    { type: 'ready', conversation: 'conversation-1', runtimeVersion: '2.1.332' },
  ])
  // That the turn was cut is still to be told to the runtime.
  await inState(core, ticket.key, 'waiting')
  await core.client.sessions.send({ ref: ticket.key, text: 'go on' })
  expect((await deliveries(next, 1))[0]?.preface).toBeTruthy()
})

test('images are kept as blobs, named by events, and handed over with the message', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  const { sessions, timeline: lines } = core.client
  const images = [{ mediaType: 'image/png' as const, data: PNG }]
  const sent = await sessions.send({ ref: ticket.key, text: '', images })
  const bytes = Buffer.from(PNG, 'base64').length
  expect(sent.images).toEqual([{ blob: expect.any(String), mediaType: 'image/png', bytes }])
  await queued(core, ticket.key, 'see above')
  const blob = sent.images[0]?.blob ?? ('' as never)
  expect((await lines.blob({ session: sent.session, blob })).text).toBe(PNG)
  agent.endTurn(1)
  const [, second] = await deliveries(agent, 2)
  expect(second).toMatchObject({ text: 'see above', images })
  expect(told(await timeline(core, ticket.key), sent.id)[0]).toMatchObject({ images: sent.images })
  // What follows on the same lease stays behind it.
  await sessions.interrupt({ ref: ticket.key })
  await until('the interrupt', () => agent.heard('turn.interrupt').length === 1)
  const order = agent.told.map(({ type }) => type)
  expect(order.lastIndexOf('input.deliver')).toBeLessThan(order.indexOf('turn.interrupt'))
})

test('an image is refused that is none, of another type, or too large; nothing is stored', async () => {
  const core = await startTestCore()
  const { ticket } = await working(core)
  const send = (mediaType: 'image/png' | 'image/gif', data: string) =>
    refusalOf(
      core.client.sessions.send({ ref: ticket.key, text: 'x', images: [{ mediaType, data }] }),
    )
  expect(await send('image/png', 'not base64!')).toMatchObject({ code: 'image.malformed' })
  expect(await send('image/gif', PNG)).toMatchObject({ code: 'image.type' })
  expect(await send('image/png', '')).toMatchObject({ code: 'input.invalid' })
  const huge = Buffer.alloc(5_000_001).toString('base64')
  expect(await send('image/png', huge)).toMatchObject({
    code: expect.stringMatching(/image.too-large|input.invalid|image.type/),
  })
  const many = Array.from({ length: 11 }, () => ({ mediaType: 'image/png' as const, data: PNG }))
  expect(
    await refusalOf(core.client.sessions.send({ ref: ticket.key, text: 'x', images: many })),
  ).toMatchObject({ code: 'input.invalid', message: expect.stringContaining('10 images') })
  const large = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(4_500_000)])
  const data = large.toString('base64')
  const five = Array.from({ length: 5 }, () => ({ mediaType: 'image/png' as const, data }))
  expect(
    await refusalOf(core.client.sessions.send({ ref: ticket.key, text: 'x', images: five })),
  ).toMatchObject({ code: 'image.too-large', message: expect.stringContaining('together') })
  expect(await core.client.sessions.inputs({ ref: ticket.key })).toHaveLength(1)
})

test('a message without text and images is refused', async () => {
  const core = await startTestCore()
  const { ticket } = await working(core)
  const input = InputId.parse('01930000-0000-7000-9000-000000000001')
  expect(
    await refusalOf(core.client.sessions.send({ ref: ticket.key, text: ' ', input, images: [] })),
  ).toMatchObject({ code: 'input.invalid' })
})
