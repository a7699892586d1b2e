import { expect, test } from 'vitest'
import type { RecordChange, RecordFollow } from '../../src-shared/contract.ts'
import { startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { working } from '../testing/walks.ts'

/** What a client holds that follows the records. */
class Holder {
  readonly records = new Map<string, RecordChange>()
  cursor: string | undefined
  snapshots = 0

  async ask({ client }: TestCore, waitMs = 0): Promise<RecordFollow> {
    const answer = await client.records.follow(
      this.cursor === undefined ? { waitMs } : { cursor: this.cursor, waitMs },
    )
    if (answer.snapshot) {
      this.records.clear()
      this.snapshots += 1
    }
    for (const change of answer.changes) {
      const key = `${change.record} ${change.id}`
      if (change.value === null) this.records.delete(key)
      else this.records.set(key, change)
    }
    this.cursor = answer.cursor
    return answer
  }

  of(record: RecordChange['record']) {
    return [...this.records.values()]
      .filter((change) => change.record === record)
      .sort((a, b) => a.id.localeCompare(b.id))
      .map(({ value }) => value)
  }
}

async function everything({ client }: TestCore) {
  const sessions = await client.sessions.list()
  const inputs = await Promise.all(sessions.map(({ id }) => client.sessions.inputs({ ref: id })))
  const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id)
  return {
    projects: (await client.projects.list()).sort(byId),
    tickets: (await client.tickets.list()).sort(byId),
    sessions: sessions.map(({ lastSeq: _, ...rest }) => rest).sort(byId),
    inputs: inputs
      .flat()
      .filter(({ state }) => ['queued', 'sent', 'unknown'].includes(state))
      .sort(byId),
    agents: (await client.agents.list()).sort(byId),
  }
}

const held = (holder: Holder) => ({
  projects: holder.of('project'),
  tickets: holder.of('ticket'),
  // The number of the last event grows without a change of the record.
  sessions: holder.of('session').map((value) => {
    const { lastSeq: _, ...rest } = value as { lastSeq: number }
    return rest
  }),
  inputs: holder.of('input'),
  agents: holder.of('agent'),
})

test('a snapshot, then changes, hold the same as the lists', async () => {
  const core = await startTestCore({ agents: 2 })
  const holder = new Holder()
  await holder.ask(core)
  const { ticket, agent } = await working(core)
  await holder.ask(core)
  expect(held(holder)).toEqual(await everything(core))

  await core.client.sessions.send({ ref: ticket.key, text: 'later' })
  agent.heartbeat()
  agent.event({
    kind: 'cost',
    turn: 1,
    usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
    costUsd: 0.25,
    contextTokens: 1_000,
    contextWindow: 200_000,
  })
  await until('the cost', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.costUsd === 0.25
  })
  await holder.ask(core)
  expect(held(holder)).toEqual(await everything(core))
  expect(holder.of('session')).toMatchObject([
    { costUsd: 0.25, contextTokens: 1_000, queuedInputs: 1 },
  ])
  expect(holder.of('agent')).toMatchObject([
    {
      id: 'agent-1',
      state: 'busy',
      ticket: ticket.key,
      memoryBytes: 30_000_000,
      runtimePids: [5_000],
    },
    { id: 'agent-2', state: 'idle', ticket: null },
  ])

  agent.endTurn(1)
  await withTicket(core, { title: 'Another' })
  await settle()
  await holder.ask(core)
  expect(held(holder)).toEqual(await everything(core))
  expect(holder.snapshots).toBe(1)
})

test('it waits for a change, tells each once, and nothing when nothing is new', async () => {
  const core = await startTestCore({ agents: 1 })
  const holder = new Holder()
  await holder.ask(core)
  await settle()
  await holder.ask(core)
  const asked = holder.ask(core, 25_000)
  await core.client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  expect((await asked).changes).toMatchObject([{ record: 'project', value: { key: 'SHOP' } }])
  const again = holder.ask(core, 1_000)
  await settle()
  core.clock.turn(1_000)
  expect((await again).changes).toEqual([])
})

test('streaming text wakes nobody who follows the records', async () => {
  const core = await startTestCore({ agents: 1 })
  const { agent } = await working(core)
  const holder = new Holder()
  await holder.ask(core)
  let answered = false
  const asked = holder.ask(core, 25_000).then(() => {
    answered = true
  })
  agent.live('b1', 0, 'text')
  agent.event({ kind: 'assistant.text', turn: 1, text: 'text', block: 'b1' })
  await settle(60)
  expect(answered).toBe(false)
  core.clock.turn(25_000)
  await asked
})

test('secrets of a project stay with Core', async () => {
  const core = await startTestCore({ agents: 1 })
  await core.client.projects.add({
    name: 'Shop',
    repo: '/srv/shop.git',
    env: { TOKEN: 'very-secret', A: '1' },
  })
  const holder = new Holder()
  await holder.ask(core)
  expect(JSON.stringify([...holder.records.values()])).not.toContain('very-secret')
  expect(holder.of('project')).toMatchObject([{ envNames: ['A', 'TOKEN'] }])
})

test('a large body and a large message come with their changes', async () => {
  const core = await startTestCore({ agents: 1 })
  const holder = new Holder()
  await holder.ask(core)
  await withTicket(core, { body: 'x'.repeat(1_000_000) })
  await settle()
  await holder.ask(core)
  expect(holder.snapshots).toBe(1)
  expect(held(holder)).toEqual(await everything(core))
  await core.client.sessions.stop({ ref: 'SHOP-1' })
  await core.launcher.holder('SHOP-1').then((agent) => agent.end('stopped'))
  await settle()
  await core.client.tickets.delete({ ref: 'SHOP-1' })
  await holder.ask(core)
  expect(holder.of('ticket')).toEqual([])
  expect(holder.of('input')).toEqual([])
})

test('a cursor of an earlier start of the host goes on, also over what was deleted', async () => {
  const first = await startTestCore({ agents: 3 })
  const holder = new Holder()
  await withTicket(first, { start: false })
  await holder.ask(first)
  expect(holder.of('agent')).toHaveLength(3)
  await first.client.tickets.delete({ ref: 'SHOP-1' })
  await withTicket(first, { title: 'Second', start: false })
  const second = await first.restart({ agents: 1 })
  await settle()
  const answer = await holder.ask(second)
  expect(answer.snapshot).toBe(false)
  expect(held(holder)).toEqual(await everything(second))
  expect(holder.of('ticket')).toHaveLength(1)
  expect(holder.of('agent')).toHaveLength(1)
  // What nobody gave out is answered with everything.
  holder.cursor = 'nonsense'
  expect((await holder.ask(second)).snapshot).toBe(true)
  holder.cursor = `${'0'.repeat(8)}:999999:0`
  expect((await holder.ask(second)).snapshot).toBe(true)
})
