import { expect, it } from 'vitest'
import { ballet, testWorld } from '../test-world.ts'

const info = { kind: 'headless', pid: 42, dataDir: '/d' }

function running(host: Record<string, unknown>, changes: Parameters<typeof testWorld>[1] = {}) {
  const signals: string[] = []
  let looks = 0
  const world = testWorld(
    { host: { info: () => ({ ...info, ...host }) } },
    {
      signal: (pid, signal) => {
        if (signal !== 0) signals.push(`${signal} ${pid}`)
        else {
          looks += 1
          if (looks > 2) throw new Error('ESRCH')
        }
      },
      ...changes,
    },
  )
  return { world, signals, looks: () => looks }
}

it('tells the host to end and waits until its process is gone', async () => {
  const { world, signals, looks } = running({})
  expect(await ballet(world, 'stop', '--data', '/d')).toBe(0)
  expect(signals).toEqual(['SIGTERM 42'])
  expect(looks()).toBe(3)
  expect(world.out()).toBe(
    'The host on /d parks its sessions and ends.\nThe host on /d has ended.\n',
  )
})

it('leaves the application with its window alone', async () => {
  const { world, signals } = running({ kind: 'desktop' })
  expect(await ballet(world, 'stop', '--data', '/d', '--json')).toBe(1)
  expect(JSON.parse(world.err()).error).toMatchObject({
    code: 'host.desktop',
    hint: expect.stringContaining('Close its window'),
  })
  expect(signals).toEqual([])
})

it('is refused inside a session, and where a process cannot be told', async () => {
  const inside = running({}, { env: { BALLET_SESSION: 's' } })
  expect(await ballet(inside.world, 'stop', '--data', '/d')).toBe(1)
  const windows = running({}, { platform: 'win32' })
  expect(await ballet(windows.world, 'stop', '--data', '/d', '--json')).toBe(1)
  expect(windows.world.err()).toContain('host.no-signal')
  expect([...inside.signals, ...windows.signals]).toEqual([])
})

it('says again what is to be done when the host does not end', async () => {
  let now = 0
  const { world } = running({}, { signal: () => undefined, monotonic: () => (now += 60_000) })
  expect(await ballet(world, 'stop', '--data', '/d', '--json')).toBe(1)
  expect(world.err()).toContain('host.slow')
})
