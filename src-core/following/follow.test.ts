import { expect, test } from 'vitest'
import type { SessionId } from '../../src-shared/ids.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { FakeAgent } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, tick, until } from '../testing/until.ts'
import { inState, timeline, working } from '../testing/walks.ts'

/** Numbers that look random and are the same for a seed. */
function generator(seed: number) {
  let state = seed * 2_654_435_761 + 1
  return (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0
    return state % below
  }
}

/** A client as the contract has it: asks again with what it got, and drops the blocks that are not named. */
class Client {
  events: TimelineEvent[] = []
  readonly live = new Map<string, string>()
  /** The last that was shown of each block. */
  readonly shown = new Map<string, string>()
  resets = 0
  readonly #core: TestCore
  readonly #session: SessionId

  constructor(core: TestCore, session: SessionId) {
    this.#core = core
    this.#session = session
  }

  get after() {
    return this.events.at(-1)?.seq ?? 0
  }

  async ask(waitMs: number, signal?: AbortSignal) {
    const live = Object.fromEntries([...this.live].map(([block, text]) => [block, text.length]))
    const answer = await this.#core.client.timeline.follow(
      { session: this.#session, after: this.after, live, waitMs },
      signal === undefined ? {} : { signal },
    )
    if (answer.reset) {
      this.resets += 1
      this.events = []
      this.live.clear()
    }
    for (const event of answer.events) {
      if (this.events.length > 0) expect(event.seq).toBe(this.after + 1)
      this.events.push(event)
    }
    for (const update of answer.live) {
      const text = this.live.get(update.block) ?? ''
      expect(update.offset).toBeLessThanOrEqual(text.length)
      const whole = text.slice(0, update.offset) + update.text
      this.live.set(update.block, whole)
      this.shown.set(update.block, whole)
    }
    for (const event of this.events.slice(-600)) {
      if ('block' in event) expect(answer.blocks).not.toContain(event.block)
    }
    for (const block of this.live.keys())
      if (!answer.blocks.includes(block)) this.live.delete(block)
    return answer
  }
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'whoever follows sees exactly what is stored (seed %i)',
  async (seed) => {
    const random = generator(seed)
    const core = await startTestCore({ agents: 1 })
    const { ticket, agent } = await working(core)
    const { id } = await core.client.sessions.show({ ref: ticket.key })
    const clients = Array.from({ length: 3 }, () => new Client(core, id))
    let over = false
    const following = clients.map(async (client) => {
      for (;;) {
        const last = over
        const answer = await client.ask(random(2) === 0 ? 0 : 25_000)
        if (last && client.after >= answer.last) return
        for (let pause = random(6); pause > 0; pause -= 1) await tick()
      }
    })

    const finals = new Map<string, string>()
    for (let block = 1; block <= 25; block += 1) {
      const name = `b${block}`
      let text = ''
      for (let piece = random(5); piece > 0; piece -= 1) {
        const more = `${'xyz'.repeat(1 + random(4))} `
        agent.live(name, text.length, more)
        // Now and then it comes twice.
        if (random(4) === 0) agent.live(name, text.length, more)
        text += more
        for (let pause = random(3); pause > 0; pause -= 1) await tick()
      }
      const batch = [
        {
          type: 'event' as const,
          event: { kind: 'assistant.text' as const, turn: 1, text: `${text}.`, block: name },
        },
      ]
      finals.set(name, `${text}.`)
      const said = agent.items(batch)
      if (random(3) === 0) agent.sayAnything(said)
      if (random(4) === 0) await core.client.sessions.send({ ref: ticket.key, text: `m${block}` })
      if (random(4) === 0) await settle(random(5))
    }
    agent.endTurn(1)
    await inState(core, ticket.key, 'working')
    agent.die()
    await inState(core, ticket.key, 'resuming')
    await core.client.sessions.send({ ref: ticket.key, text: 'the end' })
    over = true
    let done = false
    const all = Promise.all(following).then(() => {
      done = true
    })
    await until('every client to have it all', () => {
      core.clock.turn(1_000)
      return done
    })
    await all

    const stored = await timeline(core, ticket.key)
    for (const client of clients) {
      expect(client.events).toEqual(stored)
      expect(client.live.size).toBe(0)
      expect(client.resets).toBe(0)
      for (const [block, shown] of client.shown) {
        expect(finals.get(block)?.startsWith(shown)).toBe(true)
      }
    }
    expect(clients.some((client) => client.shown.size > 3)).toBe(true)
  },
)

test('live text is shown at once and touches no storage', async () => {
  let reads = 0
  const core = await startTestCore({
    agents: 1,
    storage: (real) => ({
      ...real,
      row: (...args) => {
        reads += 1
        return real.row(...args)
      },
      rows: (query) => {
        reads += 1
        return real.rows(query)
      },
      timeline: (...args) => {
        reads += 1
        return real.timeline(...args)
      },
      commit: (commit) => {
        reads += 1
        return real.commit(commit)
      },
    }),
  })
  const { ticket, agent } = await working(core)
  const { id } = await core.client.sessions.show({ ref: ticket.key })
  const client = new Client(core, id)
  await client.ask(0)
  reads = 0
  for (let piece = 0; piece < 50; piece += 1) {
    const answer = client.ask(25_000)
    agent.live('b1', piece * 3, 'abc')
    expect((await answer).live).toEqual([
      { block: 'b1', kind: 'assistant.text', turn: 1, offset: piece * 3, text: 'abc' },
    ])
  }
  expect(reads).toBe(0)
  // Text that does not follow what is there is not made up.
  agent.live('b1', 500, 'far')
  await settle()
  expect((await client.ask(0)).live).toEqual([])
  // A later viewer gets the whole block.
  const late = new Client(core, id)
  await late.ask(0)
  expect(late.live.get('b1')).toBe('abc'.repeat(50))

  const asked = client.ask(25_000)
  agent.sayAnything({ type: 'live.gone', lease: agent.spec().lease, block: 'b1' })
  expect((await asked).blocks).toEqual([])
})

test('a block that went away while nobody asked is told at the next question', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  const { id } = await core.client.sessions.show({ ref: ticket.key })
  const client = new Client(core, id)
  agent.live('b1', 0, 'text')
  await until('the block', async () => (await client.ask(0)).blocks.length === 1)
  agent.sayAnything({ type: 'live.gone', lease: agent.spec().lease, block: 'b1' })
  await settle()
  const answer = await Promise.race([client.ask(25_000), settle(50)])
  expect(answer).toMatchObject({ events: [], live: [], blocks: [] })
  const quiet = await Promise.race([client.ask(25_000), settle(50)])
  expect(quiet).toBeUndefined()
})

test('a follow that finds nothing new answers when its time is over, or its client leaves', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket } = await working(core)
  const { id } = await core.client.sessions.show({ ref: ticket.key })
  const client = new Client(core, id)
  await client.ask(0)
  const waiting = client.ask(1_000)
  await settle()
  core.clock.turn(1_000)
  expect(await waiting).toMatchObject({ events: [], live: [], last: client.after })
  const leaving = new AbortController()
  const left = client.ask(25_000, leaving.signal)
  await settle()
  leaving.abort()
  await left.catch(() => undefined)
  expect(
    await refusalOf(
      core.client.timeline.follow({ session: id.replace(/.$/, 'f') as SessionId, after: 0 }),
    ),
  ).toMatchObject({ code: 'session.not-found' })
})

async function many(core: TestCore, agent: FakeAgent, count: number) {
  const item = {
    type: 'event' as const,
    event: { kind: 'assistant.text' as const, turn: 1, text: 'x' },
  }
  for (let left = count; left > 0; left -= 500) {
    agent.items(Array.from({ length: Math.min(500, left) }, () => item))
  }
  await until('all of them', async () => (await timelineLength(core)) > count)
}

const timelineLength = async ({ client }: TestCore) =>
  (await client.timeline.page({ session: 'SHOP-1', limit: 1 })).last

test('who is behind gets pages; who is far behind gets the end', async () => {
  const core = await startTestCore({ agents: 1 })
  const { ticket, agent } = await working(core)
  const { id } = await core.client.sessions.show({ ref: ticket.key })
  await many(core, agent, 1_500)
  const behind = new Client(core, id)
  const first = await behind.ask(0)
  expect([first.events.length, first.reset]).toEqual([500, false])
  while (behind.after < first.last) await behind.ask(0)
  expect(behind.events).toHaveLength(first.last)

  await many(core, agent, 3_000)
  const far = new Client(core, id)
  const end = await far.ask(0)
  expect([end.events.length, end.reset]).toEqual([200, true])
  expect(far.after).toBe(end.last)
  // Of another database, or of one that was put back.
  const ahead = await core.client.timeline.follow({ session: id, after: 99_999, waitMs: 0 })
  expect(ahead.reset).toBe(true)
})

test('a large text is a blob, read in pieces', async () => {
  const core = await startTestCore({ agents: 1 })
  const body = '0123456789'.repeat(100_000)
  await withTicket(core, { title: 'Big', body })
  const session = await core.client.sessions.show({ ref: 'SHOP-1' })
  const [, queued] = await timeline(core, 'SHOP-1')
  if (queued?.kind !== 'input.queued' || queued.textBlob === undefined) throw new Error('no blob')
  expect(Buffer.byteLength(queued.text)).toBe(16 * 1024)
  const whole = await core.client.timeline.blob({ session: session.id, blob: queued.textBlob })
  expect(whole.text).toBe(`Big\n\n${body}`)
  const piece = await core.client.timeline.blob({
    session: session.id,
    blob: queued.textBlob,
    offset: 5,
    limit: 10,
  })
  expect(piece).toEqual({ text: '0123456789', length: 1_000_005 })
  const agent = await core.launcher.holder('SHOP-1')
  agent.ready()
  await until('the delivery', () => agent.heard('input.deliver').length === 1)
  expect(agent.delivery().text).toHaveLength(1_000_005)
})
