import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Holding, Host, hostDrain, Log } from '../src-core/index.ts'

const fakes = vi.hoisted(() => ({
  drain: {} as ReturnType<typeof hostDrain>,
  window: { open: vi.fn(), close: vi.fn() },
  closedByPerson: () => {},
  ipcMain: undefined as unknown as EventEmitter,
  powerMonitor: undefined as unknown as EventEmitter,
}))
fakes.ipcMain = new EventEmitter()
fakes.powerMonitor = new EventEmitter()
vi.mock('electron', () => ({
  app: { whenReady: () => Promise.resolve() },
  ipcMain: fakes.ipcMain,
  powerMonitor: fakes.powerMonitor,
}))
vi.mock('./guard.ts', () => ({ isOwnPage: (frame: unknown) => frame === 'own' }))
vi.mock('./quit-window.ts', () => ({
  createQuitWindow: (_preload: string, _version: string, _log: Log, onClosed: () => void) => {
    fakes.closedByPerson = onClosed
    return fakes.window
  },
}))
vi.mock('../src-core/index.ts', async (original) => ({
  ...(await original<typeof import('../src-core/index.ts')>()),
  hostDrain: () => fakes.drain,
}))
const { CANCEL_QUIT } = await import('./channels.ts')
const { createLeaving } = await import('./leaving.ts')

const log = { info() {}, warn() {}, error() {} } as unknown as Log
let holding: Partial<Holding>[]
let said: string[]

beforeEach(() => {
  vi.useFakeTimers()
  holding = [{}]
  said = []
  fakes.drain = {
    drain: async (how) => void said.push(`drain ${how}`),
    holding: async () => holding as Holding[],
  }
  fakes.window.open.mockReset().mockImplementation(() => said.push('show'))
  fakes.window.close.mockReset().mockImplementation(() => said.push('hide'))
})
afterEach(() => {
  vi.useRealTimers()
  for (const emitter of [fakes.ipcMain, fakes.powerMonitor]) emitter.removeAllListeners()
})

function create(hasHost = true) {
  return createLeaving({
    ...{ version: '1.0.0', preload: '/preload.cjs', log },
    host: async () => (hasHost ? ({} as Host) : undefined),
    close: (how) => said.push(`close ${how}`),
    goOn: () => said.push('go on'),
  })
}

const cancel = (senderFrame: string) => fakes.ipcMain.emit(CANCEL_QUIT, { senderFrame })
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

it('a quit with nothing to wait for shows no window', async () => {
  const leaving = create()
  holding = []
  leaving.quit()
  expect(leaving.isLeaving).toBe(true)
  await pass(1_000)
  expect(said).toEqual(['drain gently', 'hide', 'close gently'])
})

it('a quit without a host ends at once', async () => {
  create(false).quit()
  await pass(0)
  expect(said).toEqual(['hide', 'close gently'])
})

it('a quit that takes longer shows how far it is, and ends when no session holds an agent', async () => {
  create().quit()
  await pass(399)
  expect(said).toEqual(['drain gently'])
  await pass(60_000)
  expect(said).toEqual(['drain gently', 'show'])
  holding = []
  await pass(200)
  expect(said).toEqual(['drain gently', 'show', 'hide', 'close gently'])
})

it.each([
  ['a second quit', (leaving: ReturnType<typeof create>) => leaving.quit()],
  ['the end of its window', () => fakes.closedByPerson()],
])('%s goes the fast way, which takes at most 7.5 s', async (_, again) => {
  const leaving = create()
  leaving.quit()
  await pass(1_000)
  again(leaving)
  again(leaving)
  await pass(7_400)
  expect(said).toEqual(['drain gently', 'show', 'drain fast'])
  await pass(100)
  expect(said.slice(3)).toEqual(['hide', 'close fast'])
})

it('a system that goes down is held up, and nothing is shown', async () => {
  create()
  await pass(0)
  const preventDefault = vi.fn()
  fakes.powerMonitor.emit('shutdown', { preventDefault })
  expect(preventDefault).toHaveBeenCalledOnce()
  await pass(1_000)
  expect(said).toEqual(['drain fast'])
  holding = []
  await pass(200)
  expect(said).toEqual(['drain fast', 'hide', 'close fast'])
})

it('a quit that is taken back brings the window back before its own goes, and can be said again', async () => {
  const leaving = create()
  leaving.quit()
  await pass(1_000)
  cancel('another page')
  await pass(1_000)
  expect(said).toEqual(['drain gently', 'show'])
  cancel('own')
  await pass(0)
  expect(said.slice(2)).toEqual(['go on', 'hide', 'drain cancel'])
  expect(leaving.isLeaving).toBe(false)
  leaving.quit()
  await pass(1_000)
  expect(said.slice(5)).toEqual(['drain gently', 'show'])
})
