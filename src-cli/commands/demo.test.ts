import { expect, it } from 'vitest'
import type { HeadlessHostOptions } from '../../src-shared/headless-host.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { ballet, session, stateEvent, testWorld, textEvent, turnEndEvent } from '../test-world.ts'

function world(events: TimelineEvent[], changes: Parameters<typeof testWorld>[1] = {}) {
  const log: string[] = []
  const started: HeadlessHostOptions[] = []
  const finished = { ...session, state: 'finished' as const }
  const made = testWorld(
    {
      host: { demo: () => session },
      sessions: {
        finish: () => {
          log.push('finish')
          return session
        },
        show: () => finished,
      },
      timeline: {
        page: ({ after }: { after: number }) => ({
          events: events.filter(({ seq }) => seq > after),
          last: events.length,
        }),
      },
    },
    {
      host: {
        startHeadlessHost: async (options) => {
          started.push(options)
          return {
            info: {
              contract: 1,
              version: '1',
              kind: 'headless',
              dataDir: options.dataDir,
              pid: 1,
              agents: 1,
              runtimes: [],
              startedAt: 'now',
            },
            socket: '',
            leave: async () => 'drained' as const,
            onHolding: () => undefined,
            failed: new Promise(() => undefined),
            close: async () => {
              log.push('close')
            },
            kill: () => undefined,
          }
        },
      },
      temporaryFolder: async () => ({
        path: '/tmp/own',
        remove: async () => {
          log.push('remove')
        },
      }),
      ...changes,
    },
  )
  return { made, log, started }
}

const edit: TimelineEvent = {
  session: session.id,
  seq: 2,
  at: '2026-01-02T03:04:05.000Z',
  kind: 'tool.result',
  callId: 'c',
  status: 'ok',
  output: '',
  diff: [{ path: 'src/a.js', patch: '@@ -1 +1 @@\n-a\n+b', added: 1, removed: 1 }],
}

it('shows the turn, finishes, says what changed, and cleans up', async () => {
  const { made, log, started } = world([textEvent(1, 'Working.'), edit, turnEndEvent(3)])
  expect(await ballet(made, 'demo')).toBe(0)
  expect(started).toEqual([{ dataDir: '/tmp/own', agents: 1 }])
  expect(log).toEqual(['finish', 'close', 'remove'])
  expect(made.out()).toContain('Working.')
  expect(made.out()).toContain('Changed src/a.js: +1 -1')
  expect(made.out()).toContain(`pushed to ${session.branch}`)
})

it('uses and keeps a folder that was named', async () => {
  const { made, log, started } = world([turnEndEvent(1)])
  expect(await ballet(made, 'demo', '--data', '/kept', '--json')).toBe(0)
  expect(started).toEqual([{ dataDir: '/kept', agents: 1 }])
  expect(log).toEqual(['finish', 'close'])
  expect(made.rows()).toEqual([turnEndEvent(1)])
})

it.each([
  ['the turn failed', [turnEndEvent(1, 'failed')], 'ended as failed'],
  ['the session failed', [{ ...stateEvent(1, 'failed'), reason: 'no claude' }], 'no claude'],
])('exits 1 when %s, and cleans up all the same', async (_, events, why) => {
  const { made, log } = world(events as TimelineEvent[])
  expect(await ballet(made, 'demo', '--json')).toBe(1)
  expect(made.err()).toContain('demo.unfinished')
  expect(made.err()).toContain(why)
  expect(log).toEqual(['close', 'remove'])
})

it('stops in order when it is told to', async () => {
  const { made, log } = world([], {
    connect: async () => {
      made.stop()
      throw new Error('the host is going')
    },
  })
  expect(await ballet(made, 'demo')).toBe(0)
  expect(made.out()).toContain('Stopped.')
  expect(log).toEqual(['close', 'remove'])
})
