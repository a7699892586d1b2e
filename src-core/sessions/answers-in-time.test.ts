import { expect, test } from 'vitest'
import { asked, askTool, startWithoutPlanner } from '../testing/asking.ts'
import { answerProbe } from '../testing/fake-agent.ts'
import { HandClock } from '../testing/hand-clock.ts'
import { refusalOf, startTestCore, type TestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { deliveries, inState, timeline, working } from '../testing/walks.ts'

const Q1 = { ref: 'SHOP-1-Q1' }

const answered = async (core: TestCore) =>
  (await timeline(core, 'SHOP-1')).filter(({ kind }) => kind === 'question.answered')

/** An agent that begins the session again, ready for more. */
async function broughtBack(core: TestCore, lease?: string) {
  const agent = await until('the session to be brought back', () => {
    const found = core.launcher.holders('SHOP-1').at(-1)
    return found !== undefined && found.spec().lease !== lease && found
  })
  agent.ready()
  return agent
}

async function stopped(core: TestCore, questions = 1) {
  const { agent } = await asked(core, questions)
  const { lease } = agent.spec()
  await core.client.sessions.stop({ ref: 'SHOP-1' })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  await inState(core, 'SHOP-1', 'parked')
  return { agent, lease }
}

test('an answer that can be taken back is held that long, and told when it is final', async () => {
  const core = await startWithoutPlanner()
  const { client, clock } = core
  const { agent } = await asked(core, 1)
  const held = await client.questions.answer({ ...Q1, text: 'red', undoMs: 5_000 })
  expect(held).toMatchObject({ state: 'answered', input: null })
  expect(Date.parse(held.undoUntil ?? '') - Date.parse(clock.now())).toBe(5_000)
  clock.turn(4_999)
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(1)
  expect(await answered(core)).toEqual([])
  expect(await client.inbox.list()).toEqual([])
  clock.turn(1)
  expect((await deliveries(agent, 2))[1]?.text).toContain('Answer: red')
  expect(await answered(core)).toHaveLength(1)
  expect(await refusalOf(client.questions.undo(Q1))).toMatchObject({ code: 'question.sent' })
})

test('an answer is taken back once; then the question waits as before', async () => {
  const core = await startWithoutPlanner()
  const { client, clock } = core
  const { agent } = await asked(core, 1)
  await client.questions.answer({ ...Q1, text: 'red', undoMs: 5_000 })
  expect(await client.questions.undo(Q1)).toMatchObject({
    state: 'open',
    heldBy: 'person',
    answer: null,
    undoUntil: null,
    answeredAt: null,
  })
  expect(await refusalOf(client.questions.undo(Q1))).toMatchObject({ code: 'question.open' })
  clock.turn(10_000)
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(1)
  expect(await client.inbox.list()).toMatchObject([{ kind: 'question' }])
  await client.questions.answer({ ...Q1, text: 'blue' })
  expect((await deliveries(agent, 2))[1]?.text).toContain('Answer: blue')
  expect(await answered(core)).toHaveLength(1)
})

test('an answer that waits for the others of its turn is taken back', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { agent } = await asked(core, 2)
  await client.questions.answer({ ...Q1, text: 'red' })
  expect(await client.questions.undo(Q1)).toMatchObject({ state: 'open', answer: null })
  expect(await timeline(core, 'SHOP-1')).toContainEqual(
    expect.objectContaining({ code: 'question.undone', text: expect.stringContaining('red') }),
  )
  await client.questions.answer({ ref: 'SHOP-1-Q2', text: 'green' })
  await settle()
  expect(agent.heard('input.deliver')).toHaveLength(1)
  await client.questions.answer({ ...Q1, text: 'blue' })
  const text = (await deliveries(agent, 2))[1]?.text
  expect(text).toContain('Answer: blue')
  expect(text).not.toContain('Answer: red')
})

test('a held answer that is to be sent now goes without the others when its time passed', async () => {
  const core = await startWithoutPlanner()
  const { client, clock } = core
  const { agent } = await asked(core, 2)
  await client.questions.answer({ ...Q1, text: 'red', undoMs: 1_000, sendNow: true })
  clock.turn(1_000)
  expect((await deliveries(agent, 2))[1]?.text).not.toContain('Q2')
})

test('a held answer outlives the host, and is sent when its time passed meanwhile', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  await asked(core, 1)
  await core.client.questions.answer({ ...Q1, text: 'red', undoMs: 30_000 })
  core.clock.sleep(40_000)
  const next = await core.restart()
  next.clock.turn(0)
  const agent = await broughtBack(next)
  expect((await deliveries(agent, 1))[0]?.text).toContain('Answer to SHOP-1-Q1')
})

test('a held answer can still be taken back after a restart', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  await asked(core, 1)
  await core.client.questions.answer({ ...Q1, text: 'red', undoMs: 30_000 })
  const next = await core.restart()
  expect(await next.client.questions.undo(Q1)).toMatchObject({ state: 'open' })
  next.clock.turn(60_000)
  await settle()
  expect(await next.client.questions.show(Q1)).toMatchObject({ state: 'open', input: null })
})

test('a clock that was set back does not hold an answer for longer', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  await asked(core, 1)
  await core.client.questions.answer({ ...Q1, text: 'red', undoMs: 5_000 })
  await core.crash()
  const clock = new HandClock('2026-11-29T08:00:00.000Z')
  const next = await startTestCore({ agents: 1, dir: core.dir, clock })
  await settle()
  clock.turn(30_000)
  await until('the input', async () => (await next.client.questions.show(Q1)).input)
})

test('an answer brings a failed session back', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { agent } = await asked(core, 1)
  const { lease } = agent.spec()
  agent.end('failed', true, { code: 'runtime.died', message: 'It died.', hint: 'Try again.' })
  await inState(core, 'SHOP-1', 'failed')
  await core.client.questions.answer({ ...Q1, text: 'red' })
  const next = await broughtBack(core, lease)
  expect((await deliveries(next, 2))[1]?.text).toContain('Answer: red')
})

test('who followed the records before a restart hears what was asked and answered meanwhile', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { agent } = await asked(core, 1)
  const { cursor } = await core.client.records.follow({})
  await core.client.questions.answer({ ...Q1, text: 'red' })
  await deliveries(agent, 2)
  agent.beginTurn(2)
  await askTool(agent, 2, {}, 2)
  const answered = await core.client.questions.show(Q1)
  const open = await core.client.questions.show({ ref: 'SHOP-1-Q2' })
  const next = await core.restart()
  const { changes, snapshot } = await next.client.records.follow({ cursor, waitMs: 0 })
  expect(snapshot).toBe(false)
  expect(changes).toContainEqual({ record: 'question', id: answered.id, value: null })
  expect(changes).toContainEqual({ record: 'question', id: open.id, value: open })
  const all = await next.client.records.follow({})
  expect(all.changes.filter(({ record }) => record === 'question')).toMatchObject([{ id: open.id }])
})

test('a question outlives the host, and its answer reaches the same conversation', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  await asked(core, 1)
  const next = await core.restart()
  expect(await next.client.inbox.list()).toMatchObject([{ kind: 'question' }])
  const agent = await broughtBack(next)
  expect(agent.spec().resume).toMatchObject({ conversation: 'conversation-1' })
  expect(await inState(next, 'SHOP-1', 'waiting')).toMatchObject({ openQuestions: 1 })
  await next.client.questions.answer({ ...Q1, text: 'red' })
  expect((await deliveries(agent, 1))[0]?.text).toContain('Answer: red')
})

test('stopping keeps the questions; a late answer brings the session back', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { client } = core
  const { lease } = await stopped(core)
  expect(await client.questions.show(Q1)).toMatchObject({ state: 'open' })
  expect(await client.inbox.list()).toMatchObject([{ kind: 'question' }])
  await client.questions.answer({ ...Q1, text: 'red' })
  const agent = await broughtBack(core, lease)
  expect((await deliveries(agent, 2))[1]?.text).toContain('Answer: red')
})

test('a late answer need not bring the session back; it is there when somebody does', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { client } = core
  const { lease } = await stopped(core)
  await client.questions.answer({ ...Q1, text: 'red', resume: false, undoMs: 1_000 })
  core.clock.turn(1_000)
  await until('the input', async () => (await client.questions.show(Q1)).input)
  expect(await client.sessions.show({ ref: 'SHOP-1' })).toMatchObject({
    state: 'parked',
    queuedInputs: 1,
  })
  await client.tickets.start({ ref: 'SHOP-1' })
  const agent = await broughtBack(core, lease)
  expect((await deliveries(agent, 2))[1]?.text).toContain('Answer: red')
})

test('a held answer brings no session back that a person stopped meanwhile', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { client, clock } = core
  const { agent } = await asked(core, 1)
  await client.questions.answer({ ...Q1, text: 'red', undoMs: 5_000 })
  await client.sessions.stop({ ref: 'SHOP-1' })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  await inState(core, 'SHOP-1', 'parked')
  clock.turn(5_000)
  await until('the input', async () => (await client.questions.show(Q1)).input)
  expect(await client.sessions.show({ ref: 'SHOP-1' })).toMatchObject({
    state: 'parked',
    queuedInputs: 1,
  })
})

test('a held answer does not take a session back that is being finished meanwhile', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { client, clock } = core
  await stopped(core)
  core.launcher.answer = (probe) =>
    probe.kind === 'workspace.push' ? undefined : answerProbe(probe)
  await client.questions.answer({ ...Q1, text: 'red', undoMs: 5_000 })
  expect(await client.sessions.finish({ ref: 'SHOP-1' })).toMatchObject({ pending: 'finish' })
  clock.turn(5_000)
  await until('the answer to be told', async () => (await answered(core)).length === 1)
  expect(await client.sessions.show({ ref: 'SHOP-1' })).toMatchObject({
    state: 'parked',
    pending: 'finish',
  })
})

test('finishing withdraws what is open and what was not sent; a late answer is refused with the reason', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  const { agent } = await asked(core, 2)
  await client.questions.answer({ ref: 'SHOP-1-Q2', text: 'blue' })
  await client.sessions.finish({ ref: 'SHOP-1' })
  expect(await refusalOf(client.questions.answer({ ...Q1, text: 'red' }))).toMatchObject({
    code: 'session.finishing',
  })
  await until('the finish', () => agent.heard('session.finish').length === 1)
  agent.end('finished', false)
  await inState(core, 'SHOP-1', 'finished')
  expect(await client.questions.list()).toMatchObject([
    { state: 'withdrawn' },
    { state: 'withdrawn' },
  ])
  const late = await refusalOf(client.questions.answer({ ...Q1, text: 'red' }))
  expect(late).toMatchObject({
    code: 'question.withdrawn',
    message: 'SHOP-1-Q1 was withdrawn: the session is finished.',
  })
  expect(await refusalOf(client.questions.undo(Q1))).toMatchObject({ code: 'question.withdrawn' })
  expect(await refusalOf(client.questions.sendNow(Q1))).toMatchObject({
    code: 'question.withdrawn',
  })
  expect(await client.inbox.list()).toEqual([])
})

test('cancelling the ticket of a stopped session withdraws its questions', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  await stopped(core)
  const { cursor } = await client.records.follow({})
  await client.tickets.edit({ ref: 'SHOP-1', status: 'Cancelled' })
  expect(await refusalOf(client.questions.decline(Q1))).toMatchObject({
    message: 'SHOP-1-Q1 was withdrawn: its ticket was closed.',
  })
  const { changes } = await client.records.follow({ cursor, waitMs: 0 })
  expect(changes).toContainEqual(expect.objectContaining({ record: 'question', value: null }))
})

test('deleting a ticket takes its questions and assumptions along, for those who follow too', async () => {
  const core = await startWithoutPlanner()
  const { client } = core
  await stopped(core)
  const { id } = await client.questions.show(Q1)
  const { cursor } = await client.records.follow({})
  await client.tickets.delete({ ref: 'SHOP-1' })
  const { changes } = await client.records.follow({ cursor, waitMs: 0 })
  expect(changes).toContainEqual({ record: 'question', id, value: null })
  expect(await refusalOf(client.questions.show({ ref: id }))).toMatchObject({
    code: 'question.not-found',
  })
})

test('an answer that was given while the agent died is not lost', async () => {
  const core = await startWithoutPlanner({ agents: 1 })
  const { client } = core
  const { agent } = await working(core)
  await askTool(agent, 1)
  await client.questions.answer({ ...Q1, text: 'red' })
  const { lease } = agent.spec()
  agent.die()
  await inState(core, 'SHOP-1', 'resuming')
  expect(await client.questions.show(Q1)).toMatchObject({ input: expect.any(String) })
  core.clock.turn(2_000)
  const next = await broughtBack(core, lease)
  expect((await deliveries(next, 1))[0]).toMatchObject({
    text: expect.stringContaining('Answer: red'),
    preface: expect.any(String),
  })
})

test('an answer that storage could not take at first is sent later', async () => {
  let fails = false
  const core = await startWithoutPlanner({
    storage: (real) => ({
      ...real,
      commit: async (commit) => {
        if (fails) throw new Error('the disk is full')
        return real.commit(commit)
      },
      rows: (query) => real.rows(query),
      row: (table, id) => real.row(table, id),
      deletions: (after) => real.deletions(after),
      receipt: (command) => real.receipt(command),
      pendingOutbox: () => real.pendingOutbox(),
      timeline: (session, range) => real.timeline(session, range),
      turn: (session, turn) => real.turn(session, turn),
      blob: (session, blob) => real.blob(session, blob),
      change: () => real.change(),
      info: () => real.info(),
      close: () => real.close(),
    }),
  })
  const { agent } = await asked(core, 1)
  await core.client.questions.answer({ ...Q1, text: 'red', undoMs: 1_000 })
  fails = true
  core.clock.turn(1_000)
  await until('the failure', () =>
    core.logged.some(({ message }) => message === 'an answer is not sent yet'),
  )
  fails = false
  core.clock.turn(1_000)
  expect((await deliveries(agent, 2))[1]?.text).toContain('Answer: red')
})
