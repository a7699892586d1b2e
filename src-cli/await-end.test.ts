import { describe, expect, it } from 'vitest'
import { NOT_PUSHED } from '../src-shared/agent-wire.ts'
import type { Session } from '../src-shared/records.ts'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import { awaitEnd, whyNotPushed } from './await-end.ts'
import { createContext } from './context.ts'
import { session, type TestWorld, testWorld } from './test-world.ts'

const working: Session = { ...session, state: 'waiting', lastSeq: 5 }

const notice = (seq: number, text: string, level: 'error' | 'info' = 'error'): TimelineEvent => ({
  session: session.id,
  seq,
  at: session.createdAt,
  kind: 'notice',
  level,
  code: 'push.rejected',
  text,
})

/** A session that is seen in one state after the other; the last one stays. */
function waiting(shows: Partial<Session>[], events: TimelineEvent[] = []) {
  let clock = 0
  const left = [...shows]
  const world = testWorld(
    {
      sessions: { show: () => ({ ...working, ...(left.length > 1 ? left.shift() : left[0]) }) },
      timeline: {
        page: ({ after }: { after: number }) => ({
          events: events.filter(({ seq }) => seq > after),
          last: events.at(-1)?.seq ?? 0,
        }),
      },
    },
    {
      monotonic: () => clock,
      sleep: async (ms) => {
        clock += ms
      },
    },
  )
  return { context: createContext(world, {}), slept: () => clock }
}

describe('awaitEnd', () => {
  it('gives the session once it is finished', async () => {
    const { context } = waiting([{}, { state: 'finished' }])
    expect(await awaitEnd(context, working, 'finish')).toMatchObject({ state: 'finished' })
  })

  it('looks no further when it is done already', async () => {
    const { context, slept } = waiting([])
    const done = { ...working, state: 'finished' as const }
    expect(await awaitEnd(context, done, 'finish')).toBe(done)
    expect(slept()).toBe(0)
  })

  it.each(['parked', 'cancelled', 'finished'] as const)('takes %s for stopped', async (state) => {
    const { context } = waiting([{ state: 'working' }, { state }])
    expect(await awaitEnd(context, working, 'stop')).toMatchObject({ state })
  })

  it('rejects with why the work could not be pushed', async () => {
    const why = { reason: 'The remote refused the push.', hint: 'Ask its owner.', lastSeq: 7 }
    const { context } = waiting(
      [{}, why],
      [notice(6, 'something else', 'info'), notice(7, `${why.reason} ${why.hint}`)],
    )
    await expect(awaitEnd(context, working, 'finish')).rejects.toMatchObject({
      code: 'push.rejected',
      message: 'SHOP-1: The remote refused the push.',
      hint: 'Ask its owner.',
    })
  })

  it('does not take an earlier refusal for this one', async () => {
    const before = { ...working, reason: 'The remote refused the push.' }
    const { context } = waiting(
      [before, { state: 'finished' }],
      [notice(5, 'The remote refused the push.')],
    )
    expect(await awaitEnd(context, before, 'finish')).toMatchObject({ state: 'finished' })
  })

  it('waits for one that is finished while no agent holds it, and says why that could not be', async () => {
    const parked = { ...working, state: 'parked' as const, pending: 'finish' as const }
    const { pending: _, ...back } = parked
    const done = waiting([parked, { ...back, state: 'finished' }])
    expect(await awaitEnd(done.context, parked, 'finish')).toMatchObject({ state: 'finished' })
    const left: Session[] = [parked, { ...back, reason: 'The remote is away.', lastSeq: 6 }]
    const context = createContext(
      testWorld({
        sessions: { show: () => (left.length > 1 ? left.shift() : left[0]) },
        timeline: {
          page: () => ({ events: [notice(6, 'The remote is away. Go online.')], last: 6 }),
        },
      }),
      {},
    )
    await expect(awaitEnd(context, parked, 'finish')).rejects.toMatchObject({
      code: 'push.rejected',
      message: 'SHOP-1: The remote is away.',
    })
  })

  it('rejects when the session ends otherwise', async () => {
    const { context } = waiting([{ state: 'failed', reason: 'no disk', hint: 'Make room.' }])
    await expect(awaitEnd(context, working, 'finish')).rejects.toMatchObject({
      code: 'session.failed',
      message: 'The session of SHOP-1 is failed: no disk',
      hint: 'Make room.',
    })
  })

  it('has a limit', async () => {
    const { context } = waiting([{}])
    await expect(awaitEnd(context, working, 'stop')).rejects.toMatchObject({ code: 'session.slow' })
  })
})

describe('what is waited for', () => {
  const reason = 'is being stopped: its last work is pushed'
  const slow = (options: { json?: boolean }) => {
    const { context } = waiting([
      ...Array.from({ length: 40 }, () => ({ pending: 'stop' as const, reason })),
      { state: 'parked' },
    ])
    return { world: context.world as TestWorld, context: createContext(context.world, options) }
  }

  it('is told once, when it takes long', async () => {
    const { world, context } = slow({})
    await awaitEnd(context, working, 'stop')
    expect(world.err()).toBe(`SHOP-1 ${reason} …\n`)
  })

  it('is not told to programs', async () => {
    const { world, context } = slow({ json: true })
    await awaitEnd(context, working, 'stop')
    expect(world.err()).toBe('')
  })
})

describe('whyNotPushed', () => {
  it('gives what the agent said of a push that failed since the stop, and nothing otherwise', async () => {
    const stopped: Session = { ...working, state: 'parked', lastSeq: 7 }
    const events = [
      { ...notice(5, 'an earlier stop'), code: NOT_PUSHED },
      { ...notice(6, 'something else') },
    ]
    expect(await whyNotPushed(waiting([], events).context, working, stopped)).toBeUndefined()
    const text = 'The work was not pushed and is only in /w. The remote is away. Go online.'
    const failed = waiting([], [...events, { ...notice(7, text), code: NOT_PUSHED }])
    expect(await whyNotPushed(failed.context, working, stopped)).toMatchObject({
      code: 'stop.not-pushed',
      message: `SHOP-1 is stopped. ${text}`,
    })
  })
})
