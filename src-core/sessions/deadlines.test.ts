import { expect, test } from 'vitest'
import { InputId } from '../../src-shared/ids.ts'
import { asked, questionId, startWithoutPlanner } from '../testing/asking.ts'
import type { FakeAgent } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { deliveries, inState, letGo, pass, waiting, working } from '../testing/walks.ts'

const MINUTE = 60_000

const show = ({ client }: TestCore, ref: string) => client.sessions.show({ ref })

/** Minutes from now until it parks; null for never. */
async function minutesLeft(core: TestCore, ref: string): Promise<number | null> {
  const { parkAt } = await show(core, ref)
  return parkAt === null ? null : (Date.parse(parkAt) - Date.parse(core.clock.now())) / MINUTE
}

const isTold = (agent: FakeAgent) => agent.heard('session.park').length > 0

const told = (agent: FakeAgent) => until('the order to park', () => isTold(agent))

test('a session parks when its window passed, and not before', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  expect(await minutesLeft(core, ticket.key)).toBe(10)
  expect((await core.client.inbox.list())[0]?.parkAt).not.toBeNull()
  await pass(core, 9.9 * MINUTE)
  expect(isTold(agent)).toBe(false)
  await pass(core, 0.2 * MINUTE)
  await told(agent)
  expect(await show(core, ticket.key)).toMatchObject({ state: 'parking', parkAt: null })
  expect(await letGo(core, ticket.key, agent)).toMatchObject({
    reason: 'nobody answered within its online window',
    parked: { why: 'window' },
  })
})

test('the window begins when the question reaches the person, and anew with each answer', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { ticket, agent } = await asked(core, 2)
  await pass(core, 6 * MINUTE)
  await core.client.questions.answer({ ref: questionId(1), text: 'Blue' })
  // The other one still waits.
  expect(await minutesLeft(core, ticket.key)).toBe(10)
  await pass(core, 6 * MINUTE)
  await core.client.questions.answer({ ref: questionId(2), text: 'Red', undoMs: 5_000 })
  expect(await minutesLeft(core, ticket.key)).toBeNull()
  await core.client.questions.undo({ ref: questionId(2) })
  expect(await minutesLeft(core, ticket.key)).toBe(10)
  await core.client.questions.answer({ ref: questionId(2), text: 'Red' })
  await deliveries(agent, 2)
  expect(await minutesLeft(core, ticket.key)).toBeNull()
})

test('while the planner tries there is no deadline', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await asked(core, 1)
  expect(await minutesLeft(core, ticket.key)).toBeNull()
  const probe = await until('the planner', () =>
    agent.heard('probe').find((told) => told.probe.kind === 'planner'),
  )
  agent.say({
    type: 'probe.found',
    id: probe.id,
    finding: null,
    refusal: { code: 'planner.failed', message: 'It failed.' },
  })
  await until('the deadline', async () => (await minutesLeft(core, ticket.key)) === 10)
})

test('a message takes the deadline away, and the end of its turn brings another', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await pass(core, 5 * MINUTE)
  const input = InputId.parse('01930000-0000-7000-8000-00000000b001')
  await core.client.sessions.send({ ref: ticket.key, text: 'more', input })
  expect(await minutesLeft(core, ticket.key)).toBeNull()
  await deliveries(agent, 2)
  agent.beginTurn(2)
  await pass(core, 30 * MINUTE)
  agent.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  expect(await minutesLeft(core, ticket.key)).toBe(10)
})

test('the session’s own window counts before the project’s; now and never are windows', async () => {
  const core = await startTestCore({ agents: 1 })
  const { client } = core
  const { ticket, agent } = await waiting(core)
  const edit = (window: string | null) => client.sessions.edit({ ref: ticket.key, window })
  expect(await edit('1h')).toMatchObject({ window: '1h' })
  expect(await minutesLeft(core, ticket.key)).toBe(60)
  await client.projects.edit({ ref: 'Shop', window: '20m' })
  await settle()
  expect(await minutesLeft(core, ticket.key)).toBe(60)
  expect(await edit(null)).toMatchObject({ window: null })
  expect(await minutesLeft(core, ticket.key)).toBe(20)
  await client.projects.edit({ ref: 'Shop', window: '30m' })
  await until('the other window', async () => (await minutesLeft(core, ticket.key)) === 30)
  await edit('never')
  await pass(core, 100 * MINUTE)
  expect(isTold(agent)).toBe(false)
  await edit('now')
  core.clock.turn(0)
  await told(agent)
  expect(await refusalOf(client.sessions.edit({ ref: ticket.key, window: 'soon' }))).toMatchObject({
    code: 'input.invalid',
  })
})

test('a session is kept online for as long as a person wants', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.keep({ ref: ticket.key })
  expect(await minutesLeft(core, ticket.key)).toBe(60)
  await core.client.sessions.keep({ ref: ticket.key, for: '5m' })
  expect(await minutesLeft(core, ticket.key)).toBe(60)
  await pass(core, 59 * MINUTE)
  expect(isTold(agent)).toBe(false)
  await pass(core, 2 * MINUTE)
  await told(agent)
  expect(await refusalOf(core.client.sessions.keep({ ref: ticket.key }))).toMatchObject({
    code: 'session.parking',
  })
})

test('a session that does not wait has no deadline that could be kept away, and says so', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await working(core)
  expect(await refusalOf(core.client.sessions.keep({ ref: ticket.key, for: '2h' }))).toMatchObject({
    code: 'session.working',
    message: expect.stringContaining('does not wait for a person now'),
    hint: expect.stringContaining(`ballet session edit ${ticket.key} --window 2h`),
  })
})

test('who writes an answer has two minutes more, again and again, but half an hour at most', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await pass(core, 9.5 * MINUTE)
  for (let attended = 0; attended < 59; attended += 1) {
    await core.client.sessions.attend({ ref: ticket.key })
    await pass(core, 0.5 * MINUTE)
  }
  expect(isTold(agent)).toBe(false)
  for (let attended = 0; attended < 5; attended += 1) {
    await core.client.sessions.attend({ ref: ticket.key })
    await pass(core, 0.5 * MINUTE)
  }
  await told(agent)
})

test('a machine that slept parks what is due, but nothing that had no chance', async () => {
  const core = await startTestCore({ agents: 2 })
  const early = await waiting(core)
  await pass(core, 5 * MINUTE)
  const late = await waiting(core, 'Second')
  await pass(core, 1 * MINUTE)
  core.clock.suspend(8 * 60 * MINUTE)
  await pass(core, 0.5 * MINUTE)
  await told(early.agent)
  expect(isTold(late.agent)).toBe(false)
  expect(await minutesLeft(core, late.ticket.key)).toBeGreaterThan(1)
  await pass(core, 1 * MINUTE)
  expect(isTold(late.agent)).toBe(false)
  await pass(core, 1.5 * MINUTE)
  await told(late.agent)
})

test('so does one whose monotonic clock goes on while it sleeps', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await pass(core, 1 * MINUTE)
  core.clock.sleep(8 * 60 * MINUTE)
  await pass(core, 0.5 * MINUTE)
  expect(isTold(agent)).toBe(false)
  expect(await minutesLeft(core, ticket.key)).toBeGreaterThan(1)
  await pass(core, 2.5 * MINUTE)
  await told(agent)
})

test('what others do meanwhile moves no deadline', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.edit({ ref: ticket.key, window: '3m' })
  for (let second = 0; second < 180; second += 5) {
    expect(isTold(agent)).toBe(false)
    await pass(core, 5_000)
    await core.client.tickets.edit({ ref: ticket.key, title: `After ${second} s` })
  }
  await told(agent)
})

test('a window that is made shorter counts at once', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await pass(core, 10_000)
  await core.client.sessions.edit({ ref: ticket.key, window: '30s' })
  expect(await minutesLeft(core, ticket.key)).toBe(0.5)
  await pass(core, 29_000)
  expect(isTold(agent)).toBe(false)
  await pass(core, 2_000)
  await told(agent)
})

test('a short window is no smaller a chance: a machine that slept gives it anew', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await core.client.sessions.edit({ ref: ticket.key, window: '8s' })
  await pass(core, 1_000)
  core.clock.sleep(60_000)
  await pass(core, 1_000)
  expect(isTold(agent)).toBe(false)
  expect(await minutesLeft(core, ticket.key)).toBeGreaterThan(0)
  for (let second = 0; second < 9; second += 1) await pass(core, 1_000)
  await told(agent)
})

test('a clock that is set neither parks early nor keeps a session for ever', async () => {
  const DAY = 24 * 60 * MINUTE
  for (const jump of [DAY, -DAY]) {
    const core = await startTestCore({ agents: 1 })
    const { ticket, agent } = await waiting(core)
    await pass(core, 4 * MINUTE)
    core.clock.set(jump)
    await pass(core, 1 * MINUTE)
    expect(isTold(agent)).toBe(false)
    // The countdown is right again.
    expect(await minutesLeft(core, ticket.key)).toBeCloseTo(5, 1)
    await pass(core, 4.5 * MINUTE)
    expect(isTold(agent)).toBe(false)
    core.clock.set(-jump)
    await pass(core, 1 * MINUTE)
    await told(agent)
  }
})

test('a clock that is set parks nothing under the hands of who writes', async () => {
  const DAY = 24 * 60 * MINUTE
  // By so much the clock is beyond all that writing can move the deadline, or almost.
  for (const jump of [DAY, 35.9 * MINUTE]) {
    const core = await startTestCore({ agents: 1 })
    const { ticket, agent } = await waiting(core)
    await pass(core, 4 * MINUTE)
    core.clock.set(jump)
    await core.client.sessions.attend({ ref: ticket.key })
    await pass(core, 1 * MINUTE)
    expect(isTold(agent)).toBe(false)
    expect(await minutesLeft(core, ticket.key)).toBeCloseTo(5, 1)
    await pass(core, 4.8 * MINUTE)
    // Also not in the last moment.
    core.clock.set(jump)
    await core.client.sessions.attend({ ref: ticket.key })
    await pass(core, 1.9 * MINUTE)
    expect(isTold(agent)).toBe(false)
    await pass(core, 0.2 * MINUTE)
    await told(agent)
  }
})

test('a clock that is set parks nothing under the hands of who writes, also while others work', async () => {
  const DAY = 24 * 60 * MINUTE
  for (const jump of [DAY, -DAY]) {
    const core = await startTestCore({ agents: 1 })
    const { ticket, agent } = await waiting(core)
    await pass(core, 7 * MINUTE)
    core.clock.set(jump)
    for (let second = 0; second < 300; second += 5) {
      if (second % 30 === 0) await core.client.sessions.attend({ ref: ticket.key })
      // What others do comes all the time.
      await withTicket(core, { title: `Of ${second} s` })
      await pass(core, 5_000)
      expect(isTold(agent), `${jump} ${second}`).toBe(false)
    }
    await pass(core, 2.1 * MINUTE)
    await told(agent)
  }
})

test('who writes as soon as a machine wakes has the moment that they had not yet', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  await pass(core, 1 * MINUTE)
  core.clock.suspend(8 * 60 * MINUTE)
  await core.client.sessions.attend({ ref: ticket.key })
  await pass(core, 0.5 * MINUTE)
  expect(isTold(agent)).toBe(false)
  expect(await minutesLeft(core, ticket.key)).toBeGreaterThan(1)
})

test('a deadline survives the host and the agent, also where it is overdue by then', async () => {
  const first = await startTestCore({ agents: 1 })
  const { ticket } = await waiting(first)
  await pass(first, 4 * MINUTE)
  const { parkAt } = await show(first, ticket.key)
  const second = await first.restart()
  const agent = await second.launcher.holder(ticket.key)
  expect(await show(second, ticket.key)).toMatchObject({ state: 'resuming', parkAt })
  agent.ready()
  await inState(second, ticket.key, 'waiting')
  expect(await show(second, ticket.key)).toMatchObject({ parkAt })

  second.clock.sleep(60 * MINUTE)
  const third = await second.restart({ agents: 1 })
  third.launcher.agent('agent-1').die()
  await pass(third, 0.5 * MINUTE)
  const latest = await until('the next agent', () => third.launcher.holders(ticket.key).at(-1))
  latest.ready()
  await told(latest)
})

test('what no agent brought back in time is parked from what is on disk', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await waiting(core)
  core.launcher.greets = false
  agent.die()
  await pass(core, 9 * MINUTE)
  expect(await show(core, ticket.key)).toMatchObject({ state: 'resuming', agent: null })
  await pass(core, 2 * MINUTE)
  expect(await show(core, ticket.key)).toMatchObject({ state: 'parking', agent: null })
  core.launcher.greets = true
  await pass(core, 1 * MINUTE)
  const next = await until('the next agent', () => {
    const holder = core.launcher.holders(ticket.key).at(-1)
    return holder !== agent && holder
  })
  expect(next.spec().task).toBe('park')
  expect(await letGo(core, ticket.key, next)).toMatchObject({ parked: { why: 'window' } })
})

test('a turn that waits for permission parks too', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  expect(await minutesLeft(core, ticket.key)).toBeNull()
  agent.ask('01930000-0000-7000-8000-0000000000a1' as never)
  await until('the deadline', async () => (await minutesLeft(core, ticket.key)) === 10)
  await core.client.requests.allow({ ref: '01930000-0000-7000-8000-0000000000a1' })
  expect(await minutesLeft(core, ticket.key)).toBeNull()
})
