import { describe, expect, it, vi } from 'vitest'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import type { TimelineFollow } from '../src-shared/timeline-calls.ts'
import { HOST_BACK_LIMIT_MS } from './across-hosts.ts'
import type { Client, Connection } from './connection.ts'
import { type FollowOptions, followTimeline, readTimeline } from './follow.ts'
import { fakeConnection, session, stateEvent, textEvent, turnEndEvent } from './test-world.ts'

type Asked = { after: number; live: Record<string, number>; waitMs?: number }

/** A host whose timeline grows by what each follow is answered with; after the last answer it breaks off. */
function fakeHost(stored: TimelineEvent[], answers: (Partial<TimelineFollow> | 'dies')[]) {
  const asked: Asked[] = []
  let isOpen = true
  const connection: Connection = fakeConnection(
    {
      timeline: {
        page: ({ after, limit }: { after: number; limit: number }) => ({
          events: stored.filter(({ seq }) => seq > after).slice(0, limit),
          last: stored.at(-1)?.seq ?? 0,
        }),
        follow: ({ after, live, ...more }: Asked) => {
          asked.push({ after, live, ...more })
          const answer = answers.shift() ?? 'dies'
          if (answer === 'dies') {
            isOpen = false
            throw new Error('the connection is closed')
          }
          stored.push(...(answer.events ?? []))
          const last = stored.at(-1)?.seq ?? 0
          return { events: [], last, reset: false, live: [], blocks: [], ...answer }
        },
      },
    },
    () => isOpen,
  )
  return { connection, asked, stored }
}

function follow(connection: Connection, changes: Partial<FollowOptions> = {}) {
  const seen: number[] = []
  const live: string[] = []
  const host: string[] = []
  let clock = 0
  const done = followTimeline({
    world: {
      connect: async () => {
        throw new Error('there is no second host')
      },
      sleep: async (ms) => {
        clock += ms
      },
      monotonic: () => clock,
    },
    dataDir: '/d',
    connection,
    session,
    after: 0,
    printer: {
      events: (events) => seen.push(...events.map(({ seq }) => seq)),
      live: (updates) => live.push(...updates.map(({ text }) => text)),
      end: () => undefined,
    },
    showsLive: true,
    signal: new AbortController().signal,
    onHost: (is) => host.push(is),
    ...changes,
  })
  return { done, seen, live, host }
}

describe('followTimeline', () => {
  it('gives what is stored, then what comes, and ends with the session', async () => {
    const { connection, asked } = fakeHost(
      [textEvent(1, 'a'), textEvent(2, 'b')],
      [{ events: [textEvent(3, 'c')] }, { events: [stateEvent(4, 'finished')] }, {}],
    )
    const { done, seen } = follow(connection)
    await done
    expect(seen).toEqual([1, 2, 3, 4])
    expect(asked.map(({ after }) => after)).toEqual([2, 3, 4])
    expect(asked.at(-1)?.waitMs).toBe(0)
  })

  it.each(['finished', 'failed', 'cancelled', 'parked'] as const)(
    'ends at once when it is %s',
    async (state) => {
      const { connection } = fakeHost([textEvent(1, 'a'), stateEvent(2, state)], [{}])
      const { done, seen } = follow(connection, { session: { ...session, state, lastSeq: 2 } })
      await done
      expect(seen).toEqual([1, 2])
    },
  )

  it('does not end at an end that is past', async () => {
    const { connection } = fakeHost(
      [stateEvent(1, 'failed'), stateEvent(2, 'resuming')],
      [{ events: [stateEvent(3, 'finished')] }, {}],
    )
    const { done, seen } = follow(connection, {
      session: { ...session, state: 'resuming', lastSeq: 2 },
    })
    await done
    expect(seen).toEqual([1, 2, 3])
  })

  it('goes on with what follows an end before it was looked at again', async () => {
    const { connection } = fakeHost(
      [],
      [
        { events: [stateEvent(1, 'failed')] },
        { events: [stateEvent(2, 'resuming')] },
        { events: [stateEvent(3, 'finished')] },
        {},
      ],
    )
    const { done, seen } = follow(connection)
    await done
    expect(seen).toEqual([1, 2, 3])
  })

  it('begins where it is told to', async () => {
    const { connection } = fakeHost(
      [textEvent(1, 'a'), textEvent(2, 'b'), stateEvent(3, 'finished')],
      [{}],
    )
    const { done, seen } = follow(connection, {
      after: 1,
      session: { ...session, state: 'finished', lastSeq: 3 },
    })
    await done
    expect(seen).toEqual([2, 3])
  })

  it('loads what is between when it was too far behind', async () => {
    const { connection, stored } = fakeHost([textEvent(1, 'a')], [])
    const late = [textEvent(2, 'b'), textEvent(3, 'c'), stateEvent(4, 'finished')]
    const host = fakeHost(stored, [{ reset: true, events: late }, {}])
    connection.close()
    const { done, seen } = follow(host.connection)
    await done
    expect(seen).toEqual([1, 2, 3, 4])
  })

  it('says how much it has of each live block and forgets those that are over', async () => {
    const block = { block: 'b1', kind: 'assistant.text' as const }
    const { connection, asked } = fakeHost(
      [],
      [
        { live: [{ ...block, offset: 0, text: 'Hel' }], blocks: ['b1'] },
        { live: [{ ...block, offset: 3, text: 'lo' }], blocks: ['b1'] },
        { events: [textEvent(1, 'Hello', 'b1')], blocks: [] },
        { events: [stateEvent(2, 'finished')] },
        {},
      ],
    )
    const { done, live } = follow(connection)
    await done
    expect(live).toEqual(['Hel', 'lo'])
    expect(asked.map((one) => one.live)).toEqual([{}, { b1: 3 }, { b1: 5 }, {}, {}])
  })

  it('goes on from its cursor when the host comes back', async () => {
    const first = fakeHost([textEvent(1, 'a')], [{ events: [textEvent(2, 'b')] }, 'dies'])
    const second = fakeHost(
      [...first.stored, textEvent(2, 'b'), textEvent(3, 'c')],
      [{ events: [stateEvent(4, 'finished')] }, {}],
    )
    let tries = 0
    const { done, seen, host } = follow(first.connection, {
      world: {
        connect: async () => {
          tries += 1
          if (tries < 3) throw new Error('not yet')
          return second.connection
        },
        sleep: async () => undefined,
        monotonic: () => 0,
      },
    })
    await done
    expect(seen).toEqual([1, 2, 3, 4])
    expect(host).toEqual(['gone', 'back'])
  })

  it('gives up when the host stays away', async () => {
    const { connection } = fakeHost([], ['dies'])
    let clock = 0
    const { done } = follow(connection, {
      world: {
        connect: async () => {
          throw new Error('nobody is there')
        },
        sleep: async (ms) => {
          clock += ms
        },
        monotonic: () => clock,
      },
    })
    await expect(done).rejects.toThrow('nobody is there')
    expect(clock).toBeGreaterThan(HOST_BACK_LIMIT_MS)
    expect(clock).toBeLessThan(HOST_BACK_LIMIT_MS + 5_000)
  })

  it('does not take a refusal for a host that is gone', async () => {
    const connection = fakeConnection({
      timeline: {
        page: () => {
          throw new Error('there is no such session')
        },
      },
    })
    await expect(follow(connection).done).rejects.toThrow('there is no such session')
  })

  it('ends when it is enough, and at the signal', async () => {
    const { connection } = fakeHost([turnEndEvent(1)], [])
    const { done, seen } = follow(connection, { isEnough: ({ kind }) => kind === 'turn.ended' })
    await done
    expect(seen).toEqual([1])

    const stop = new AbortController()
    const other = fakeHost([textEvent(1, 'a')], [])
    stop.abort()
    await follow(other.connection, { signal: stop.signal }).done
    expect(other.asked).toEqual([])
  })
})

it('readTimeline pages through everything', async () => {
  const stored = Array.from({ length: 1_234 }, (_, at) => textEvent(at + 1, 'x'))
  const { connection } = fakeHost(stored, [])
  const seen: number[] = []
  const last = await readTimeline(connection.client, session.id, 4, (events) => {
    seen.push(...events.map(({ seq }) => seq))
  })
  expect(last).toBe(1_234)
  expect(seen).toEqual(stored.slice(4).map(({ seq }) => seq))
})

describe('a host that does not answer', () => {
  const silent = {
    timeline: {
      page: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    },
  } as unknown as Client

  it('is not waited for without an end', async () => {
    vi.useFakeTimers()
    try {
      const read = readTimeline(silent, session.id, 0, () => undefined)
      const failed = expect(read).rejects.toMatchObject({ name: 'TimeoutError' })
      await vi.advanceTimersByTimeAsync(60_000)
      await failed
    } finally {
      vi.useRealTimers()
    }
  })

  it('is not waited for any more when the reader has had enough', async () => {
    const stop = new AbortController()
    const read = readTimeline(silent, session.id, 0, () => undefined, stop.signal)
    stop.abort()
    await expect(read).rejects.toMatchObject({ name: 'AbortError' })
  })
})
