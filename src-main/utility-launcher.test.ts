import { EventEmitter } from 'node:events'
import { expect, it, vi } from 'vitest'
import type { Log } from '../src-core/index.ts'

const { fork } = vi.hoisted(() => ({ fork: vi.fn() }))
vi.mock('electron', () => ({ utilityProcess: { fork } }))
const { createUtilityLauncher } = await import('./utility-launcher.ts')

const log = { info() {}, warn() {}, error() {} } as unknown as Log

function setUp() {
  const child = Object.assign(new EventEmitter(), {
    pid: undefined,
    stdout: null,
    stderr: null,
    postMessage: vi.fn(),
    kill: vi.fn(),
  })
  fork.mockReset().mockReturnValue(child)
  let start = () => {}
  const ready = new Promise<void>((resolve) => {
    start = resolve
  })
  const launcher = createUtilityLauncher('/agent.js', log, ready)
  return { child, start, agent: launcher.launch('agent-1' as never, {}) }
}

it('starts no agent before it may, and tells it then what it was told until then', async () => {
  const { child, start, agent } = setUp()
  agent.channel.send({ type: 'one' })
  agent.channel.send({ type: 'two' })
  await Promise.resolve()
  expect(fork).not.toHaveBeenCalled()
  start()
  await vi.waitFor(() => expect(fork).toHaveBeenCalledOnce())
  agent.channel.send({ type: 'three' })
  expect(child.postMessage.mock.calls.map(([message]) => message.type)).toEqual([
    ...['one', 'two', 'three'],
  ])
  const exits: unknown[] = []
  agent.onExit((exit) => exits.push(exit))
  child.emit('exit', 3)
  expect(exits).toEqual([{ code: 3, reason: 'it exited with 3' }])
})

it('never starts an agent that was killed before it might', async () => {
  const { start, agent } = setUp()
  const exit = new Promise((resolve) => agent.onExit(resolve))
  agent.kill()
  start()
  expect(await exit).toMatchObject({ code: null })
  expect(fork).not.toHaveBeenCalled()
})

it('tells of an agent that could not be started', async () => {
  const { start, agent } = setUp()
  fork.mockImplementation(() => {
    throw new Error('no room')
  })
  const exit = new Promise((resolve) => agent.onExit(resolve))
  start()
  expect(await exit).toEqual({ code: null, reason: 'could not be started: no room' })
})
