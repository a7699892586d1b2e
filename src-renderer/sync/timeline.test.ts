import { afterEach, describe, expect, it } from 'vitest'
import type { SessionId } from '../../src-shared/ids.ts'
import { FixtureHost } from '../fixture/client.ts'
import { longBodies, numbered, storyBodies } from '../fixture/story.ts'
import { littleWorld, seeded } from '../fixture/world.ts'
import type { Client } from './client.ts'
import type { Frames } from './frame.ts'
import { RowBuilder } from './row-builder.ts'
import { SessionTimeline } from './timeline.ts'

/** Draws a frame whenever it is told to. */
function handFrames() {
  const waiting = new Set<() => void>()
  const frames: Frames = {
    nextFrame: (callback) => {
      waiting.add(callback)
      return () => waiting.delete(callback)
    },
    after: () => () => {},
  }
  const draw = () => {
    const due = [...waiting]
    waiting.clear()
    for (const callback of due) callback()
  }
  return { frames, draw }
}

async function until(condition: () => boolean, draw: () => void): Promise<void> {
  const end = Date.now() + 5_000
  while (!condition()) {
    if (Date.now() > end) throw new Error('it did not come')
    draw()
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

const running: SessionTimeline[] = []
afterEach(() => {
  for (const timeline of running.splice(0)) timeline.stop()
})

function setUp(client: (host: FixtureHost) => Client = (host) => host.client()) {
  const host = new FixtureHost(littleWorld())
  const session = host.world.sessions[0]?.id as SessionId
  const { frames, draw } = handFrames()
  const timeline = new SessionTimeline(client(host), session, frames)
  running.push(timeline)
  const view = () => timeline.store.getState()
  return { host, session, timeline, draw, view }
}

describe('a session’s timeline', () => {
  it('opens at its end, loads upwards to the beginning, and shows what one load would', async () => {
    const { host, session, timeline, draw, view } = setUp()
    host.timeline(session).events.push(...numbered(session, longBodies(950)))
    timeline.start()
    await until(() => view().phase === 'ready', draw)
    expect([view().first, view().last, view().hostLast]).toEqual([751, 950, 950])
    while (view().first > 1) await timeline.loadAbove()
    const whole = new RowBuilder()
    whole.add(host.timeline(session).events)
    expect(view().rows).toEqual(whole.rows())
  })

  it('followed in random steps with live text, it is what a later load shows', async () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const random = seeded(seed)
      const { host, session, timeline, draw, view } = setUp()
      timeline.start()
      await until(() => view().phase === 'ready', draw)
      const bodies = storyBodies()
      while (bodies.length > 0) {
        if (random() < 0.5) {
          const block = { block: `l${bodies.length}`, kind: 'assistant.text' as const }
          host.grow(session, block, 'some words ')
          host.grow(session, block, 'and more')
          if (random() < 0.5) draw()
          if (random() < 0.5) await new Promise((resolve) => setTimeout(resolve, 3))
          host.endLive(session, block.block)
          host.append(session, [{ ...block, text: 'some words and more' }])
        }
        host.append(session, bodies.splice(0, 1 + Math.floor(random() * 4)))
        if (random() < 0.5) await new Promise((resolve) => setTimeout(resolve, 1))
      }
      const last = host.timeline(session).events.length
      await until(() => view().last === last && view().rows.every((row) => row.seq !== null), draw)
      const fresh = new SessionTimeline(host.client(), session, handFrames().frames)
      running.push(fresh)
      fresh.start()
      await until(() => fresh.store.getState().phase === 'ready', draw)
      expect(view().rows).toEqual(fresh.store.getState().rows)
    }
  })

  it('shows at most once a frame', async () => {
    const { host, session, timeline, draw, view } = setUp()
    timeline.start()
    await until(() => view().phase === 'ready', draw)
    let shown = 0
    timeline.store.subscribe(() => {
      shown += 1
    })
    for (let piece = 0; piece < 20; piece += 1) {
      host.grow(session, { block: 'b', kind: 'assistant.text' }, 'x')
      await new Promise((resolve) => setTimeout(resolve, 4))
    }
    // The first at once, the others when the next frame comes.
    expect(shown).toBeLessThanOrEqual(1)
    await until(() => JSON.stringify(view().rows).includes('x'.repeat(20)), draw)
  })

  it('goes on from where it was when the host was away', async () => {
    const { host, session, timeline, draw, view } = setUp()
    host.append(session, storyBodies().slice(0, 10))
    timeline.start()
    await until(() => view().phase === 'ready', draw)
    host.up = false
    host.append(session, storyBodies().slice(10, 12))
    await until(() => view().away !== null, draw)
    expect(view().last).toBe(10)
    host.up = true
    await until(() => view().away === null && view().last === 12, draw)
  })

  const farBehind = () =>
    setUp((of) => {
      const client = of.client()
      const follow: Client['timeline']['follow'] = async (...args) => {
        const answer = await client.timeline.follow(...args)
        return answer.events.length > 100
          ? { ...answer, events: answer.events.slice(-50), reset: true }
          : answer
      }
      return { ...client, timeline: { ...client.timeline, follow } }
    })

  it('takes the end that a host gives which was too far ahead', async () => {
    const { host, session, timeline, draw, view } = farBehind()
    host.append(session, storyBodies().slice(0, 5))
    timeline.start()
    await until(() => view().phase === 'ready', draw)
    host.append(session, longBodies(400))
    await until(() => view().last === 405, draw)
    expect(view().first).toBe(356)
    await timeline.loadAbove()
    expect(view().first).toBe(156)
  })

  it('keeps the place of a reader further up when the host is too far ahead', async () => {
    const { host, session, timeline, draw, view } = farBehind()
    host.append(session, longBodies(300))
    timeline.start()
    await until(() => view().phase === 'ready', draw)
    timeline.setFollowing(false)
    const { rows, first, last } = view()
    host.append(session, longBodies(400))
    await until(() => view().hostLast === 700, draw)
    expect(view()).toMatchObject({ first, last })
    expect(view().rows).toEqual(rows)
    while (view().last < 700) await timeline.loadBelow()
    const whole = new RowBuilder()
    whole.add(host.timeline(session).events.slice(first - 1))
    expect(view().rows).toEqual(whole.rows())
  })

  it('takes nothing twice that came while a page further down was loaded', async () => {
    let holds = false
    const held: (() => void)[] = []
    const { host, session, timeline, draw, view } = setUp((of) => {
      const client = of.client()
      const follow: Client['timeline']['follow'] = async (...args) => {
        const answer = await client.timeline.follow(...args)
        if (holds) await new Promise<void>((resolve) => held.push(resolve))
        return answer
      }
      return { ...client, timeline: { ...client.timeline, follow } }
    })
    host.timeline(session).events.push(...numbered(session, longBodies(5_000)))
    timeline.start()
    await until(() => view().phase === 'ready', draw)
    timeline.setFollowing(false)
    while (view().first > 800 && view().pageFailed === null) await timeline.loadAbove()
    host.append(session, storyBodies().slice(0, 1))
    await until(() => view().hostLast === 5_001, draw)
    holds = true
    host.append(session, storyBodies().slice(1, 4))
    await until(() => held.length === 1, draw)
    for (let page = 0; page < 10; page += 1) await timeline.loadBelow()
    holds = false
    held.shift()?.()
    host.append(session, storyBodies().slice(4, 5))
    await until(() => view().last === 5_005, draw)
    const whole = new RowBuilder()
    whole.add(host.timeline(session).events.slice(view().first - 1))
    expect(view().rows).toEqual(whole.rows())
  })

  it('holds a bounded number of events, and finds the others again', async () => {
    const { host, session, timeline, draw, view } = setUp()
    host.timeline(session).events.push(...numbered(session, longBodies(5_000)))
    timeline.start()
    await until(() => view().phase === 'ready', draw)
    timeline.setFollowing(false)
    while (view().first > 800 && view().pageFailed === null) await timeline.loadAbove()
    expect(view().last - view().first).toBeLessThan(3_601)
    expect(view().last).toBeLessThan(5_000)
    host.append(session, storyBodies().slice(0, 3))
    await until(() => view().hostLast === 5_003, draw)
    // What comes at the end does not move what is read.
    expect(view().last).toBeLessThan(5_000)
    await timeline.jumpToEnd()
    expect([view().last, view().hostLast]).toEqual([5_003, 5_003])
  })
})
