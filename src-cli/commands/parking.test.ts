import { expect, it } from 'vitest'
import type { Parked } from '../../src-shared/parking.ts'
import type { Agent, Session } from '../../src-shared/records.ts'
import { agent, ballet, session, testWorld } from '../test-world.ts'

/** Answers a call, and keeps what it was asked. */
function asked<T>(answer: () => T) {
  const calls: Record<string, unknown>[] = []
  const call = (given: never) => {
    calls.push(given)
    return answer()
  }
  return { calls, call }
}

const kept: Parked = {
  why: 'window',
  at: '2026-01-02T03:04:05.000Z',
  commit: 'a1b2c3d4',
  pushed: false,
  notPushed: { code: 'push.unreachable', message: 'The remote cannot be reached.' },
  keptBytes: 3_145_728,
  stateBytes: 1_572_864,
  runtimeVersion: '2.1.332',
  aside: [{ name: '.env', why: 'looks like a secret', bytes: 120 }],
  wakes: false,
}
const parked: Session = { ...session, state: 'parked', parked: kept, contextTokens: 38_200 }

it('parks and waits until it is parked, and says what is not pushed yet', async () => {
  const states: Session[] = [{ ...session, state: 'parking' }, parked]
  const show = asked(() => states.shift() ?? parked)
  const park = asked((): Session => ({ ...session, state: 'parking' }))
  const world = testWorld({ sessions: { park: park.call, show: show.call } })
  expect(await ballet(world, 'park', 'SHOP-1')).toBe(0)
  expect(park.calls).toMatchObject([{ ref: 'SHOP-1' }])
  expect(show.calls).toHaveLength(2)
  expect(world.out()).toBe(
    'SHOP-1 is parked. Its work is not pushed yet: The remote cannot be reached.\n',
  )
})

it('says why a session could not be parked', async () => {
  const text = 'The workspace holds more than 2 GB.'
  const back: Session = {
    ...session,
    state: 'waiting',
    reason: text,
    hint: 'Finish it.',
    lastSeq: 4,
  }
  const events = [{ seq: 4, kind: 'notice', level: 'error', code: 'park.too-large', text }]
  const world = testWorld({
    sessions: { park: () => ({ ...session, state: 'parking', lastSeq: 3 }), show: () => back },
    timeline: { page: () => ({ events, last: 4 }) },
  })
  expect(await ballet(world, 'park', 'SHOP-1', '--json')).toBe(1)
  expect(JSON.parse(world.err())).toMatchObject({ error: { code: 'park.too-large' } })
})

it('resumes, and says before that what is loaded again', async () => {
  const resume = asked((): Session => ({ ...parked, state: 'resuming' }))
  const show = asked((): Session => parked)
  const world = testWorld({ sessions: { resume: resume.call, show: show.call } })
  expect(await ballet(world, 'resume', 'SHOP-1')).toBe(0)
  expect(world.out()).toBe(
    'Resuming loads a conversation of about 38,200 tokens again.\nSHOP-1 is resuming.\n',
  )
  expect(await ballet(world, 'resume', 'SHOP-1', '--without-damaged')).toBe(0)
  expect(resume.calls).toMatchObject([{ withoutDamaged: false }, { withoutDamaged: true }])
})

it('keeps a session online, an hour where nothing else is said', async () => {
  const keep = asked((): Session => ({ ...session, parkAt: '2026-01-02T04:04:05.000Z' }))
  const world = testWorld({ sessions: { keep: keep.call } })
  expect(await ballet(world, 'keep', 'SHOP-1')).toBe(0)
  expect(await ballet(world, 'keep', 'SHOP-1', '--for', 'never')).toBe(0)
  expect(await ballet(world, 'keep', 'SHOP-1', '--for', 'soon')).toBe(2)
  expect(keep.calls).toMatchObject([{ for: '1h' }, { for: 'never' }])
  expect(world.out()).toContain('SHOP-1 parks at 2026-01-02T04:04:05.000Z.')
})

it('gives a session an online window of its own, and takes it away', async () => {
  const edit = asked((): Session => ({ ...session, window: '2h' }))
  const world = testWorld({ sessions: { edit: edit.call } })
  expect(await ballet(world, 'session', 'edit', 'SHOP-1', '--window', '2h')).toBe(0)
  expect(await ballet(world, 'session', 'edit', 'SHOP-1', '--window', 'project')).toBe(0)
  expect(edit.calls).toMatchObject([{ window: '2h' }, { window: null }])
})

it('shows what is kept of a parked session', async () => {
  const world = testWorld({ sessions: { show: () => parked } })
  expect(await ballet(world, 'session', 'show', 'SHOP-1')).toBe(0)
  for (const text of [
    'nobody answered within its online window',
    'a1b2c3d4',
    'not yet: The remote cannot be reached.',
    '1.5 MiB, runtime 2.1.332',
    '.env (looks like a secret, 120 B)',
    '38,200 tokens',
  ]) {
    expect(world.out()).toContain(text)
  }
})

it('drains one agent and waits until it is free', async () => {
  const free: Agent = { ...agent, state: 'offline', session: null, ticket: null }
  const lists: Agent[][] = [[{ ...agent, state: 'draining' }], [free]]
  const drain = asked((): Agent[] => [{ ...agent, state: 'draining' }])
  const world = testWorld({ agents: { drain: drain.call, list: () => lists.shift() ?? [free] } })
  expect(await ballet(world, 'drain', '--agent', '1', '--now')).toBe(0)
  expect(drain.calls).toMatchObject([{ how: 'now', agent: 'agent-1' }])
  expect(world.out()).toContain('Parking SHOP-1.\n')
  expect(world.out()).toContain('offline')
  expect(lists).toEqual([])
})

it('a drain is taken back without a wait, and both at once is refused', async () => {
  const drain = asked(() => [agent])
  const world = testWorld({ agents: { drain: drain.call } })
  expect(await ballet(world, 'drain', '--cancel')).toBe(0)
  expect(drain.calls).toMatchObject([{ how: 'cancel' }])
  expect(await ballet(world, 'drain', '--cancel', '--now')).toBe(2)
})
