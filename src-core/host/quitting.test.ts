import { expect, test } from 'vitest'
import { AgentId, SessionId, TicketKey } from '../../src-shared/ids.ts'
import { HandClock } from '../testing/hand-clock.ts'
import { createQuitting, FAST_LIMIT_MS, type Holding, type HostDrain } from './quitting.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }

function holdingOf(number: number): Holding {
  return {
    agent: AgentId.parse(`agent-${number}`),
    session: SessionId.parse(`0197c0de-0000-7000-8000-00000000000${number}`),
    ticket: TicketKey.parse(`SHOP-${number}`),
  }
}

/** A host with so many sessions that hold an agent, and what was said to it. */
function scene(count: number, changes: Partial<HostDrain> = {}) {
  const clock = new HandClock()
  const said: string[] = []
  const seen: number[] = []
  let holding = Array.from({ length: count }, (_, at) => holdingOf(at + 1))
  const quitting = createQuitting({
    host: {
      drain: async (how) => {
        said.push(how)
      },
      holding: async () => holding,
      ...changes,
    },
    clock,
    log,
    onHolding: (now) => seen.push(now.length),
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    clock,
    said,
    seen,
    quitting,
    settle,
    async hold(left: number) {
      holding = holding.slice(0, left)
      clock.turn(1_000)
      await settle()
    },
  }
}

test('waits as long as a session holds an agent, and tells each change', async () => {
  const { quitting, said, seen, settle, hold, clock } = scene(2)
  let left: string | undefined
  void quitting.leave('gently').then((how) => {
    left = how
  })
  await settle()
  clock.turn(3_600_000)
  await settle()
  expect(left).toBeUndefined()
  await hold(1)
  await hold(0)
  expect(left).toBe('drained')
  expect(said).toEqual(['gently'])
  expect(seen).toEqual([2, 1])
})

test('a second time it hurries, and does not wait for ever then', async () => {
  const { quitting, said, settle, clock } = scene(1)
  const left = quitting.leave('gently')
  await settle()
  expect(quitting.leave('fast')).toBe(left)
  void quitting.leave('gently')
  await settle()
  expect(said).toEqual(['gently', 'fast'])
  clock.turn(FAST_LIMIT_MS)
  expect(await left).toBe('late')
})

test('taken back it lets agents take sessions again, and can be begun anew', async () => {
  const { quitting, said, settle, hold } = scene(1)
  const left = quitting.leave('gently')
  await settle()
  quitting.cancel()
  expect(await left).toBe('cancelled')
  await settle()
  const again = quitting.leave('gently')
  await settle()
  await hold(0)
  expect(await again).toBe('drained')
  expect(said).toEqual(['gently', 'cancel', 'gently'])
})

test('a host that cannot drain does not hold the end up', async () => {
  const { quitting } = scene(1, {
    drain: async () => {
      throw new Error('the database is gone')
    },
  })
  expect(await quitting.leave('gently')).toBe('late')
})
