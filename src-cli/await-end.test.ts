import { describe, expect, it } from 'vitest'
import type { Session } from '../src-shared/records.ts'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import { awaitEnd } from './await-end.ts'
import { createContext } from './context.ts'
import { session, testWorld } from './test-world.ts'

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
