import { expect, it } from 'vitest'
import type { HeadlessHost, HeadlessHostOptions } from '../../src-shared/headless-host.ts'
import { TicketKey } from '../../src-shared/ids.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { ballet, testWorld } from '../test-world.ts'

function fakeHost(changes: Partial<HeadlessHost> = {}) {
  const log: string[] = []
  const started: HeadlessHostOptions[] = []
  const host: HeadlessHost = {
    info: {
      contract: 1,
      version: '1.2.3',
      kind: 'headless',
      dataDir: '/d',
      pid: 42,
      agents: 2,
      runtimes: [],
      startedAt: 'now',
    },
    socket: '/d/ballet.sock',
    failed: new Promise(() => undefined),
    leave: async (how) => {
      log.push(how)
      return 'drained'
    },
    onHolding: () => undefined,
    close: async () => {
      log.push('close')
    },
    kill: () => {
      log.push('kill')
    },
    ...changes,
  }
  return {
    log,
    started,
    module: {
      startHeadlessHost: async (options: HeadlessHostOptions) => {
        started.push(options)
        return host
      },
    },
  }
}

/** Lets what is settled go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

it('says that it is ready and ends in order at a signal', async () => {
  const { module, log, started } = fakeHost()
  const world = testWorld(undefined, { host: module })
  const ended = ballet(world, 'serve', '--data', '/d', '--agents', '2')
  await settle()
  expect(started).toEqual([{ dataDir: '/d', agents: 2 }])
  expect(world.out()).toBe('ballet serves /d with 2 agents.\n')
  expect(log).toEqual([])
  world.stop('SIGTERM')
  expect(await ended).toBe(0)
  expect(log).toEqual(['gently', 'close'])
  expect(world.out()).toContain('Every session is parked.')
})

it('parks gently, tells who still holds an agent, and is hurried by a second signal', async () => {
  let tell: (tickets: TicketKey[]) => void = () => undefined
  let hurry: (left: 'late') => void = () => undefined
  const { module, log } = fakeHost({
    leave: (how) => {
      log.push(how)
      return new Promise((resolve) => {
        if (how === 'fast') hurry = resolve
      })
    },
    onHolding: (listener) => {
      tell = listener
    },
  })
  const world = testWorld(undefined, { host: module })
  const ended = ballet(world, 'serve', '--data', '/d')
  await settle()
  world.stop()
  await settle()
  tell([TicketKey.parse('SHOP-1'), TicketKey.parse('SHOP-2')])
  expect(world.out()).toContain('Parking SHOP-1, SHOP-2: a turn that runs has its grace.')
  world.stop()
  await settle()
  tell([TicketKey.parse('SHOP-2')])
  expect(world.out()).toContain('Parking SHOP-2.\n')
  hurry('late')
  expect(await ended).toBe(0)
  expect(log).toEqual(['gently', 'fast', 'close'])
  expect(world.out()).toContain('Not every session could be parked')
})

it('is ready in JSON too', async () => {
  const world = testWorld(undefined, { host: fakeHost().module })
  const ended = ballet(world, 'serve', '--data', '/d', '--json')
  await settle()
  expect(world.rows()).toEqual([
    { ready: true, dataDir: '/d', agents: 2, pid: 42, version: '1.2.3', socket: '/d/ballet.sock' },
  ])
  world.stop()
  expect(await ended).toBe(0)
})

it('ends at once at a third signal', async () => {
  const { module, log } = fakeHost({ close: () => new Promise(() => undefined) })
  const world = testWorld(undefined, { host: module })
  const ended = ballet(world, 'serve', '--data', '/d', '--json')
  await settle()
  world.stop()
  await settle()
  world.stop()
  await settle()
  world.stop()
  expect(await ended).toBe(1)
  expect(log).toEqual(['gently', 'fast', 'kill'])
  expect(world.err()).toContain('host.killed')
})

it('stops also when it is told so before it is ready', async () => {
  const { module, log } = fakeHost()
  let ready: () => void = () => undefined
  const world = testWorld(undefined, {
    host: {
      startHeadlessHost: async (options) => {
        await new Promise<void>((resolve) => {
          ready = resolve
        })
        return module.startHeadlessHost(options)
      },
    },
  })
  const ended = ballet(world, 'serve', '--data', '/d')
  await settle()
  world.stop()
  ready()
  expect(await ended).toBe(0)
  expect(log).toEqual(['gently', 'close'])
})

it('exits 1 with the reason when the host cannot start', async () => {
  const world = testWorld(undefined, {
    host: {
      startHeadlessHost: async () => {
        throw new BalletError({ code: 'host.running', message: 'Another host runs on /d.' })
      },
    },
  })
  expect(await ballet(world, 'serve', '--data', '/d', '--json')).toBe(1)
  expect(JSON.parse(world.err())).toEqual({
    error: { code: 'host.running', message: 'Another host runs on /d.' },
  })
})

it('exits 1 when the host ends by itself', async () => {
  const { module, log } = fakeHost({
    failed: Promise.resolve(
      new BalletError({ code: 'storage.failed', message: 'The disk is gone.' }),
    ),
  })
  const world = testWorld(undefined, { host: module })
  expect(await ballet(world, 'serve', '--data', '/d', '--json')).toBe(1)
  expect(world.err()).toContain('The disk is gone.')
  expect(log).toEqual(['close'])
})
