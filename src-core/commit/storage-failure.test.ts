import { expect, test } from 'vitest'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Commit, CommitAnswer, Storage } from '../storage/port.ts'
import { refusalOf, startTestCore } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { inState, timeline, working } from '../testing/walks.ts'

/** Storage whose commits can be made to fail. */
function failing() {
  const state = { full: false, defects: 0, commits: [] as Commit[] }
  const wrap = (real: Storage): Storage => ({
    ...real,
    commit: async (commit) => {
      if (state.defects > 0 && !state.full) {
        state.defects -= 1
        throw new Error('a defect')
      }
      if (state.full) {
        throw new BalletError({
          code: 'storage.full',
          message: 'The disk is full.',
          hint: 'Make room.',
        })
      }
      state.commits.push(commit)
      return real.commit(commit)
    },
  })
  return { state, wrap }
}

test('on a full disk commands are refused, and what agents tell is kept and stored later, once', async () => {
  const { state, wrap } = failing()
  const core = await startTestCore({ agents: 1, storage: wrap })
  const { ticket, agent } = await working(core)
  await settle()
  const before = await timeline(core, ticket.key)
  state.full = true
  expect(await refusalOf(core.client.sessions.send({ ref: ticket.key, text: 'x' }))).toEqual({
    code: 'storage.full',
    message: 'The disk is full.',
    hint: 'Make room.',
  })
  const acks = agent.heard('items.ack').length
  const said = agent.event({ kind: 'assistant.text', turn: 1, text: 'kept' })
  agent.endTurn(1)
  await settle()
  agent.sayAnything(said)
  core.clock.turn(1_000)
  await settle()
  expect(agent.heard('items.ack')).toHaveLength(acks)
  expect(await timeline(core, ticket.key)).toEqual(before)
  expect((await core.client.sessions.show({ ref: ticket.key })).state).toBe('working')
  expect((await core.client.host.doctor()).problems.map(({ code }) => code)).toContain(
    'storage.full',
  )

  state.full = false
  core.clock.turn(4_000)
  await inState(core, ticket.key, 'waiting')
  const texts = (await timeline(core, ticket.key)).filter(({ kind }) => kind === 'assistant.text')
  expect(texts).toHaveLength(1)
  await until('the problem to be over', async () => {
    const { problems } = await core.client.host.doctor()
    return problems.length === 0
  })
  expect(agent.heard('items.ack').length).toBeGreaterThan(acks)
})

test('an agent that dies while nothing can be stored loses its session only after its last words', async () => {
  const { state, wrap } = failing()
  const core = await startTestCore({ agents: 1, storage: wrap })
  const { ticket, agent } = await working(core)
  state.full = true
  agent.event({ kind: 'assistant.text', turn: 1, text: 'last words' })
  await settle()
  agent.die()
  await settle()
  state.full = false
  core.clock.turn(2_000)
  await inState(core, ticket.key, 'resuming')
  const kinds = (await timeline(core, ticket.key)).map(({ kind }) => kind)
  expect(kinds.slice(-3)).toEqual(['assistant.text', 'turn.ended', 'session.state'])
})

test('a change that met another one is decided again', async () => {
  let conflicts = 2
  const core = await startTestCore({
    storage: (real) => ({
      ...real,
      commit: async (commit): Promise<CommitAnswer> => {
        const [first] = commit.expected
        if (conflicts > 0 && first !== undefined) {
          conflicts -= 1
          return { outcome: 'conflict', at: [first] }
        }
        return real.commit(commit)
      },
    }),
  })
  await core.client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  expect(conflicts).toBe(0)
  conflicts = 99
  expect(
    await refusalOf(core.client.projects.add({ name: 'X', repo: '/srv/x.git' })),
  ).toMatchObject({ code: 'storage.conflict' })
  expect(await core.client.projects.list()).toHaveLength(1)
})

test('plain events wait for no disk; what ends a turn does, in one commit with what follows', async () => {
  const { state, wrap } = failing()
  const core = await startTestCore({ agents: 1, storage: wrap })
  const { ticket, agent } = await working(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'next' })
  state.commits.length = 0
  agent.event({ kind: 'assistant.text', turn: 1, text: 'a' })
  await until('the text', () => state.commits.length === 1)
  expect(state.commits[0]).toMatchObject({ durability: 'timeline', puts: [], domain: [] })
  agent.endTurn(1)
  await until('the delivery', () => agent.heard('input.deliver').length === 2)
  expect(state.commits).toHaveLength(2)
  expect(state.commits[1]?.durability).toBe('domain')
  expect(state.commits[1]?.timeline[0]?.events.map(({ body }) => body.kind)).toEqual([
    'turn.ended',
    'session.state',
    'input.sent',
    'session.state',
  ])
})

test('what comes while a commit is under way goes into the next one', async () => {
  const { state, wrap } = failing()
  const core = await startTestCore({ agents: 1, storage: wrap })
  const { ticket, agent } = await working(core)
  state.commits.length = 0
  state.full = true
  for (let count = 0; count < 50; count += 1) {
    agent.event({ kind: 'assistant.text', turn: 1, text: `${count}` })
  }
  await settle(60)
  state.full = false
  core.clock.turn(1_000)
  await until('all', async () => (await timeline(core, ticket.key)).length > 50)
  expect(state.commits).toHaveLength(1)
})

test('what is said again while nothing can be stored takes no room from what is new', async () => {
  const { state, wrap } = failing()
  const core = await startTestCore({ agents: 1, storage: wrap })
  const { ticket, agent } = await working(core)
  state.full = true
  const many = Array.from({ length: 1_000 }, (_, index) => ({
    type: 'event' as const,
    event: { kind: 'assistant.text' as const, turn: 1, text: `${index}` },
  }))
  const said = agent.items(many)
  for (let count = 0; count < 20; count += 1) agent.sayAnything(said)
  agent.event({ kind: 'assistant.text', turn: 1, text: 'new' })
  await settle()
  state.full = false
  core.clock.turn(1_000)
  await until('all', async () => (await timeline(core, ticket.key)).length > 500)
  const { events, last } = await core.client.timeline.page({ session: ticket.key, limit: 1 })
  expect(last).toBeGreaterThan(1_000)
  expect(events).toMatchObject([{ text: 'new' }])
})

test('an agent that died leaves its session although its last words cannot be stored', async () => {
  const { state, wrap } = failing()
  const core = await startTestCore({ agents: 1, storage: wrap })
  const { ticket, agent } = await working(core)
  state.full = true
  agent.event({ kind: 'assistant.text', turn: 1, text: 'last words' })
  await settle()
  agent.die()
  await settle()
  state.full = false
  state.defects = 1
  core.clock.turn(1_000)
  await inState(core, ticket.key, 'resuming')
})

test('an agent whose end cannot be stored yet is not taken for one that lost its session', async () => {
  const { state, wrap } = failing()
  const core = await startTestCore({ agents: 1, storage: wrap })
  const { ticket, agent } = await working(core)
  state.full = true
  agent.end('failed')
  for (let beat = 0; beat < 8; beat += 1) {
    agent.heartbeat(null)
    await settle(3)
  }
  state.full = false
  core.clock.turn(2_000)
  await inState(core, ticket.key, 'failed')
  expect(await core.client.agents.list()).toMatchObject([{ state: 'idle', restarts: 0 }])
})

test('a Core that stopped tries nothing again', async () => {
  const { state, wrap } = failing()
  const core = await startTestCore({ agents: 1, storage: wrap })
  const { agent } = await working(core)
  state.full = true
  agent.event({ kind: 'assistant.text', turn: 1, text: 'x' })
  await settle()
  await core.core.stop()
  const before = core.logged.length
  core.clock.turn(300_000)
  await settle()
  expect(core.logged.slice(before)).toEqual([])
})
