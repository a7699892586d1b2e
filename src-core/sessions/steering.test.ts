import { expect, test } from 'vitest'
import { InputId } from '../../src-shared/ids.ts'
import { refusalOf, startTestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import {
  deliveries,
  inState,
  nextAgent,
  parked,
  starting,
  stored,
  timeline,
  waiting,
  working,
} from '../testing/walks.ts'

const inputId = (last: string) => InputId.parse(`01930000-0000-7000-9000-${last.padStart(12, '0')}`)

const NO_USAGE = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

test('messages of a turn are held until its end, then delivered in order as one', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent } = await working(core)
  const first = await client.sessions.send({ ref: ticket.key, text: 'and blue' })
  expect(first).toMatchObject({ state: 'queued', inputKind: 'message', author: 'person' })
  await client.sessions.send({ ref: ticket.key, text: 'and round' })
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(1)
  expect(await client.sessions.show({ ref: ticket.key })).toMatchObject({ queuedInputs: 2 })

  agent.endTurn(1)
  const [, second] = await deliveries(agent, 2)
  expect(second?.text).toBe('and blue\n\nand round')
  expect(second?.inputs).toHaveLength(2)
  expect(second?.preface).toBeUndefined()
  expect(await client.sessions.inputs({ ref: ticket.key, state: 'sent' })).toHaveLength(2)

  const told = (await timeline(core, ticket.key)).map(({ kind }) => kind)
  expect(told.slice(told.indexOf('turn.ended'))).toEqual([
    'turn.ended',
    'session.state',
    'input.sent',
    'input.sent',
    'session.state',
  ])
})

test('a message to a waiting session is delivered at once', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await waiting(core)
  const sent = await core.client.sessions.send({ ref: ticket.key, text: 'go on' })
  expect(sent.state).toBe('sent')
  const [, second] = await deliveries(agent, 2)
  expect(second?.text).toBe('go on')
  // What comes before the turn began waits for its end.
  const held = await core.client.sessions.send({ ref: ticket.key, text: 'wait' })
  expect(held.state).toBe('queued')
})

test('the same input id is the same input', async () => {
  const core = await startTestCore()
  const { ticket } = await working(core)
  const input = inputId('1')
  const send = () => core.client.sessions.send({ ref: ticket.key, text: 'once', input })
  const [first, second] = await Promise.all([send(), send()])
  expect(first).toEqual(second)
  expect(await core.client.sessions.inputs({ ref: ticket.key })).toHaveLength(2)
  const other = await withTicket(core, { title: 'Other' })
  expect(
    await refusalOf(core.client.sessions.send({ ref: other.key, text: 'once', input })),
  ).toMatchObject({ code: 'input.exists' })
})

test('the id of a message is taken: another text under it is refused instead of dropped', async () => {
  const core = await startTestCore()
  const { ticket } = await working(core)
  const input = inputId('7')
  const { sessions } = core.client
  await sessions.send({ ref: ticket.key, text: 'one', input })
  for (const call of [
    sessions.send({ ref: ticket.key, text: 'two', input }),
    sessions.interrupt({ ref: ticket.key, text: 'two', input }),
  ]) {
    expect(await refusalOf(call)).toMatchObject({ code: 'input.id-taken' })
  }
  expect((await sessions.show({ ref: ticket.key })).state).toBe('working')
  expect((await sessions.inputs({ ref: ticket.key })).map(({ text }) => text)).not.toContain('two')
})

/** A person interrupts the turn of a message, with `text` for another one, and the runtime or the agent dies in it. */
async function interruptedAndCut(text?: string, dies: 'runtime' | 'agent' = 'runtime') {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  const ref = ticket.key
  await core.client.sessions.send({ ref, text: 'Begin this.' })
  const [, delivery] = await deliveries(agent, 2)
  if (delivery === undefined) throw new Error('It was not delivered.')
  const { id, inputs } = delivery
  await stored(agent, () => agent.event({ kind: 'turn.started', turn: 2, inputs }))
  await core.client.sessions.interrupt({ ref, ...(text === undefined ? {} : { text }) })
  if (dies === 'runtime') {
    await stored(agent, () => agent.endTurn(2, 'interrupted', { cut: true }))
  }
  const stateOf = async (said: string) => {
    const all = await core.storage.rows({ table: 'input' })
    return all.find((row) => row.text === said)?.state
  }
  const said = { type: 'undelivered' as const, delivery: id, reason: 'Nobody knows.' }
  return { core, ref, agent, id, said, stateOf }
}

test('of an interrupted turn that its runtime did not end, nobody knows whether it had the message', async () => {
  const { core, ref, agent, said, stateOf } = await interruptedAndCut()
  expect(await stateOf('Begin this.')).toBe('sent')
  const waits = { state: 'waiting', reason: 'interrupted' }
  expect(await core.client.sessions.show({ ref })).toMatchObject({ ...waits, pending: 'interrupt' })
  await stored(agent, () => agent.item({ ...said, fate: 'unknown' }))
  expect(await stateOf('Begin this.')).toBe('unknown')
  expect(await core.client.sessions.show({ ref })).toMatchObject(waits)
})

test.each(['unknown', 'never'] as const)(
  'what a person says meanwhile goes to the runtime, whatever became of the other: %s',
  async (fate) => {
    const { core, ref, agent, said } = await interruptedAndCut()
    await core.client.sessions.send({ ref, text: 'Then this.' })
    await stored(agent, () => agent.item({ ...said, fate }))
    const text = (await deliveries(agent, 3))[2]?.text
    expect(text).toContain('Then this.')
    expect(text?.includes('Begin this.')).toBe(fate === 'never')
  },
)

test('where the runtime has it, the interrupt is over, and the next message goes to it', async () => {
  const { core, ref, agent, id, stateOf } = await interruptedAndCut()
  await core.client.sessions.send({ ref, text: 'Then this.' })
  await stored(agent, () => agent.item({ type: 'delivered', delivery: id }))
  expect(await stateOf('Begin this.')).toBe('delivered')
  expect((await deliveries(agent, 3))[2]?.text).toContain('Then this.')
  expect((await core.client.sessions.show({ ref })).pending).toBeUndefined()
})

test.each([
  ['the same agent', undefined],
  ['another agent', undefined],
  ['another agent, as that died in the turn', 'agent'],
] as const)(
  'where it certainly does not have it, it is held back until a person says more: %s',
  async (who, dies) => {
    const { core, ref, agent, said, stateOf } = await interruptedAndCut(undefined, dies)
    let now = agent
    if (who !== 'the same agent') {
      agent.die()
      await inState(core, ref, 'resuming')
      now = await nextAgent(core, agent)
      expect(now.spec().resume?.openDeliveries).toHaveLength(1)
      await stored(now, () => {
        now.item({ ...said, fate: 'never' })
        now.ready()
      })
    } else await stored(now, () => now.item({ ...said, fate: 'never' }))
    expect(await stateOf('Begin this.')).toBe('queued')
    const session = await core.client.sessions.show({ ref })
    expect(session).toMatchObject({
      state: 'waiting',
      reason: expect.stringContaining('interrupt'),
    })
    expect(session.pending).toBeUndefined()
    const before = now.heard('input.deliver').length
    await core.client.sessions.send({ ref, text: 'Go on after all.' })
    await until('the delivery', () => now.heard('input.deliver').length > before)
    const texts = now.heard('input.deliver').map(({ delivery }) => delivery.text)
    expect(texts.at(-1)).toMatch(/Begin this\.[\s\S]*Go on after all\./)
  },
)

test('with a word of the person it goes before that, and the timeline says that the turn was lost', async () => {
  const { core, ref, agent, said } = await interruptedAndCut('Do that instead.')
  await stored(agent, () => agent.item({ ...said, fate: 'never' }))
  expect((await deliveries(agent, 3))[2]?.text).toMatch(/Begin this\.[\s\S]*Do that instead\./)
  expect((await core.client.sessions.show({ ref })).pending).toBeUndefined()
})

test('an interrupt ends the turn; what was queued and its own text come next, in order', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent } = await working(core)
  await client.sessions.send({ ref: ticket.key, text: 'queued before' })
  await client.sessions.interrupt({ ref: ticket.key, text: 'stop that' })
  await until('the interrupt', () => agent.heard('turn.interrupt').length === 1)
  expect(agent.heard('input.deliver')).toHaveLength(1)

  agent.endTurn(1, 'interrupted')
  const [, next] = await deliveries(agent, 2)
  expect(next?.text).toBe('queued before\n\nstop that')
  const kinds = (await client.sessions.inputs({ ref: ticket.key })).map(
    ({ inputKind }) => inputKind,
  )
  expect(kinds).toEqual(['message', 'message', 'interrupt'])
})

test('an interrupt from two windows at once is one', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await working(core)
  const press = () => core.client.sessions.interrupt({ ref: ticket.key })
  await Promise.all([press(), press()])
  await press()
  await settle()
  expect(agent.heard('turn.interrupt')).toHaveLength(1)
  agent.endTurn(1, 'interrupted')
  const session = await inState(core, ticket.key, 'waiting')
  expect(session.reason).toBe('interrupted')
  // Nothing runs any more: nothing is stopped, and nothing is refused.
  await press()
  await settle()
  expect(agent.heard('turn.interrupt')).toHaveLength(1)
})

test('an interrupt with an input id is idempotent too', async () => {
  const core = await startTestCore()
  const { ticket } = await working(core)
  const press = () =>
    core.client.sessions.interrupt({ ref: ticket.key, text: 'no', input: inputId('2') })
  await Promise.all([press(), press()])
  expect(await core.client.sessions.inputs({ ref: ticket.key, state: 'queued' })).toHaveLength(1)
})

test('where no turn runs the text of an interrupt is a message', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.interrupt({ ref: ticket.key, text: 'hello' })
  const [, next] = await deliveries(agent, 2)
  expect(next?.text).toBe('hello')
  expect(agent.heard('turn.interrupt')).toHaveLength(0)
  expect((await core.client.sessions.inputs({ ref: ticket.key })).at(-1)?.inputKind).toBe('message')
})

test('an interrupt before the turn began is told again when it does', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await starting(core)
  agent.ready()
  await deliveries(agent, 1)
  await core.client.sessions.interrupt({ ref: ticket.key })
  await until('the interrupt', () => agent.heard('turn.interrupt').length === 1)
  agent.beginTurn(1)
  await until('the interrupt again', () => agent.heard('turn.interrupt').length === 2)
})

test('an agent that does not interrupt is ended, and the session goes on without it', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  await core.client.sessions.interrupt({ ref: ticket.key })
  await until('the interrupt', () => agent.heard('turn.interrupt').length === 1)
  for (let passed = 0; passed < 32_000; passed += 2_000) {
    agent.heartbeat()
    await settle(3)
    core.clock.turn(2_000)
  }
  await inState(core, ticket.key, 'resuming')
})

test('stop: a queued session is cancelled, a held one parks when its agent says so', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await working(core)
  const queued = await withTicket(core, { title: 'Later' })
  expect((await client.sessions.stop({ ref: queued.key })).state).toBe('cancelled')
  expect((await client.tickets.show({ ref: queued.key })).status).toBe('Ready')
  expect(await client.sessions.inputs({ ref: queued.key })).toMatchObject([{ state: 'cancelled' }])
  expect((await client.sessions.stop({ ref: queued.key })).state).toBe('cancelled')

  const press = () => client.sessions.stop({ ref: ticket.key })
  await Promise.all([press(), press()])
  await client.sessions.send({ ref: ticket.key, text: 'for later' })
  // The second one says that there is no time.
  await until('the stops', () => agent.heard('session.stop').length === 2)
  agent.endTurn(1, 'interrupted')
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(1)
  agent.item({ type: 'pushed', commit: 'e'.repeat(40) })
  agent.end('stopped')
  const session = await inState(core, ticket.key, 'parked')
  expect(session).toMatchObject({ agent: null, reason: 'stopped by a person', queuedInputs: 1 })
  expect(session.workspace).not.toBeNull()
  expect((await client.tickets.show({ ref: ticket.key })).status).toBe('Ready')
  expect((await press()).state).toBe('parked')

  // Starting the ticket again goes on with the same session, and delivers what waited.
  const again = await client.tickets.start({ ref: ticket.key })
  expect(again).toMatchObject({ id: session.id, state: 'resuming' })
  await until('a second start', () => agent.heard('session.start').length === 2)
  expect(agent.spec()).toMatchObject({
    pushedCommit: 'e'.repeat(40),
    resume: { conversation: 'conversation-1', turn: 1, turnCut: false, openDeliveries: [] },
  })
  agent.ready()
  const told = await deliveries(agent, 2)
  expect(told.at(-1)?.text).toBe('for later')
  expect((await client.tickets.show({ ref: ticket.key })).status).toBe('In progress')
})

test('a message wakes a parked session', async () => {
  const core = await startTestCore()
  const { ticket } = await parked(core)
  const sent = await core.client.sessions.send({ ref: ticket.key, text: 'one more thing' })
  expect(sent.state).toBe('queued')
  const session = await core.client.sessions.show({ ref: ticket.key })
  expect(session).toMatchObject({ state: 'resuming', queuedInputs: 1 })
})

test('finish: refused while it works; pressed twice it is one; a refusal leaves it as it was', async () => {
  const core = await startTestCore()
  const { client } = core
  const { ticket, agent } = await working(core)
  const press = () => client.sessions.finish({ ref: ticket.key })
  expect(await refusalOf(press())).toMatchObject({
    code: 'session.working',
    hint: expect.stringContaining('interrupt'),
  })
  agent.endTurn(1)
  await inState(core, ticket.key, 'waiting')
  await Promise.all([press(), press()])
  await until('the finish', () => agent.heard('session.finish').length === 1)
  expect(
    await refusalOf(client.sessions.send({ ref: ticket.key, text: 'too late' })),
  ).toMatchObject({ code: 'session.finishing' })
  agent.item({
    type: 'refused',
    what: 'finish',
    refusal: { code: 'git.refused', message: 'The remote refused the push.', hint: 'Log in.' },
  })
  const back = await until('the refusal', async () => {
    const session = await client.sessions.show({ ref: ticket.key })
    return session.pending === undefined && session
  })
  expect(back).toMatchObject({
    state: 'waiting',
    reason: 'The remote refused the push.',
    hint: 'Log in.',
  })
  expect((await timeline(core, ticket.key)).at(-1)).toMatchObject({
    kind: 'notice',
    level: 'error',
    code: 'git.refused',
  })
  await client.sessions.send({ ref: ticket.key, text: 'go on' })
  await deliveries(agent, 2)
})

test('a finished session takes nothing more, and its ticket can be started again', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await parked(core)
  await core.client.sessions.finish({ ref: ticket.key })
  const session = await inState(core, ticket.key, 'finished')
  expect((await core.client.tickets.show({ ref: ticket.key })).status).toBe('Done')

  expect((await core.client.sessions.finish({ ref: ticket.key })).state).toBe('finished')
  for (const call of [
    core.client.sessions.send({ ref: ticket.key, text: 'more' }),
    core.client.sessions.interrupt({ ref: ticket.key }),
    core.client.sessions.stop({ ref: ticket.key }),
  ]) {
    expect(await refusalOf(call)).toMatchObject({
      code: 'session.finished',
      hint: expect.stringContaining('Start the ticket again'),
    })
  }
  const next = await core.client.tickets.start({ ref: ticket.key })
  expect(next.id).not.toBe(session.id)
  expect(next.branch).toBe(session.branch)
})

test('a session that failed tells why, and tries again with the next message', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await starting(core)
  agent.end('failed', false, {
    code: 'runtime.not-logged-in',
    message: 'Claude Code is not logged in.',
    hint: 'Run claude login.',
  })
  const failed = await inState(core, ticket.key, 'failed')
  expect(failed).toMatchObject({
    reason: 'Claude Code is not logged in.',
    hint: 'Run claude login.',
    queuedInputs: 1,
  })
  expect((await core.client.tickets.show({ ref: ticket.key })).status).toBe('In progress')
  await core.client.sessions.send({ ref: ticket.key, text: 'now' })
  await until('a second start', () => agent.heard('session.start').length === 2)
  expect(agent.heard('probe').map(({ probe }) => probe.kind)).toContain('reap')
  agent.ready()
  const [first] = await deliveries(agent, 1)
  expect(first?.text).toBe('Add a button\n\nIt says hello.\n\nnow')
})

test('a conversation that is lost is followed by a new one, which is told the ticket', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await parked(core)
  await core.client.tickets.start({ ref: ticket.key })
  await until('a second start', () => agent.heard('session.start').length === 2)
  expect(agent.spec().resume?.conversation).toBe('conversation-1')
  agent.event({ kind: 'assistant.text', turn: 1, text: 'The button is half done.' })
  agent.end('failed', true, {
    code: 'runtime.conversation-lost',
    message: 'The conversation cannot be resumed.',
  })
  await until('a third start', () => agent.heard('session.start').length === 3)
  await core.client.sessions.send({ ref: ticket.key, text: 'go on' })
  expect(agent.spec().resume).toMatchObject({ conversation: null, turn: 1, turnCut: false })
  agent.ready()
  const [, anew] = await deliveries(agent, 2)
  expect(anew?.text).toMatch(/lost.*\n\n# The ticket\n\nAdd a button\n\nIt says hello\.\n\n/)
  expect(anew?.text).toMatch(/# What happened so far\n\n- You: The button is half done\.\n\ngo on$/)
})

test('what the runtime certainly did not take is delivered again, under another id', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'hello' })
  const [, first] = await deliveries(agent, 2)
  if (first === undefined) throw new Error('no delivery')
  agent.item({ type: 'undelivered', delivery: first.id, fate: 'never', reason: 'it died' })
  const [, , again] = await deliveries(agent, 3)
  expect(again?.text).toBe('hello')
  expect(again?.id).not.toBe(first.id)
  agent.item({ type: 'undelivered', delivery: again?.id ?? first.id, fate: 'unknown', reason: '?' })
  await inState(core, ticket.key, 'waiting')
  expect((await core.client.sessions.inputs({ ref: ticket.key })).at(-1)?.state).toBe('unknown')
})

test('what a person stopped waits for a word of theirs, whatever else the agent tells', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'hello' })
  const [, first] = await deliveries(agent, 2)
  if (first === undefined) throw new Error('no delivery')
  await core.client.sessions.interrupt({ ref: ticket.key })
  agent.item({ type: 'undelivered', delivery: first.id, fate: 'never', reason: 'interrupted' })
  await inState(core, ticket.key, 'waiting')
  agent.event({ kind: 'cost', usage: NO_USAGE, costUsd: 0.6 })
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(2)
  await core.client.sessions.send({ ref: ticket.key, text: 'go on' })
  expect((await deliveries(agent, 3))[2]?.text).toBe('hello\n\ngo on')
})

test('an interrupt outlives the agent that was to begin the turn', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'hello' })
  const [, first] = await deliveries(agent, 2)
  if (first === undefined) throw new Error('no delivery')
  await core.client.sessions.interrupt({ ref: ticket.key })
  agent.die()
  await inState(core, ticket.key, 'resuming')
  core.clock.turn(1_000)
  const next = await until('the next agent', () => {
    const latest = core.launcher.agent('agent-1')
    return latest !== agent && latest.heard('session.start').length === 1 && latest
  })
  // A resume that takes its time is no interrupt that is not obeyed.
  core.clock.turn(10_000)
  next.item({ type: 'undelivered', delivery: first.id, fate: 'never', reason: 'the agent died' })
  next.ready()
  // Nothing else says why what is queued stays where it is.
  expect(await inState(core, ticket.key, 'waiting')).toMatchObject({
    reason: 'interrupted: what is queued was not delivered',
    queuedInputs: 1,
  })
  await settle()
  expect(next.heard('input.deliver')).toEqual([])
  await core.client.sessions.send({ ref: ticket.key, text: 'go on' })
  expect((await deliveries(next, 1))[0]?.text).toContain('hello\n\ngo on')
})

test('nothing is handed over while it is open what came of the delivery before', async () => {
  const core = await startTestCore()
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'first' })
  const [, first] = await deliveries(agent, 2)
  // The runtime begins and ends a turn by itself.
  agent.event({ kind: 'turn.started', turn: 2, inputs: [] })
  agent.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  const second = await core.client.sessions.send({ ref: ticket.key, text: 'second' })
  expect(second.state).toBe('queued')
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(2)
  if (first === undefined) throw new Error('no delivery')
  agent.item({ type: 'delivered', delivery: first.id })
  const [, , next] = await deliveries(agent, 3)
  expect(next?.text).toBe('second')
})
