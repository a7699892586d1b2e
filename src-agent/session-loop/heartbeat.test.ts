import { expect, it } from 'vitest'
import type { FromAgent, ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { HandClock } from '../port/hand-clock.ts'
import { startHeartbeat } from './heartbeat.ts'
import { until } from './loop-harness.ts'

const nobody: ProcessIdentity = { pid: 4_194_303, startTime: '1' }

function open() {
  const clock = new HandClock()
  const beats: (FromAgent & { type: 'heartbeat' })[] = []
  let running: ProcessIdentity[] = []
  const heartbeat = startHeartbeat({
    everyMs: 2_000,
    own: { pid: process.pid, startTime: '1' },
    clock,
    lease: () => null,
    processes: async () => running,
    send: (message) => {
      if (message.type === 'heartbeat') beats.push(message)
    },
  })
  const run = (processes: ProcessIdentity[]) => {
    running = processes
    heartbeat.soon()
  }
  const told = (count: number) => until(`${count} heartbeats`, () => beats.length >= count)
  return { clock, beats, heartbeat, run, told }
}

it('tells of a runtime that came up or went within 100 ms, and of both at once where they come together', async () => {
  const { clock, beats, run, told } = open()
  await told(1)
  await until('the next one to be planned', () => clock.planned === 1)
  run([nobody])
  run([nobody])
  clock.advance(99)
  expect(beats).toHaveLength(1)
  clock.advance(1)
  await told(2)
  expect(beats[1]?.runtime).toEqual([nobody])
  await until('the next one to be planned', () => clock.planned === 1)
  clock.advance(1_999)
  expect(beats).toHaveLength(2)
  clock.advance(1)
  await told(3)
})

it('tells soon what changed while it was looking', async () => {
  const { clock, beats, run, told } = open()
  run([nobody])
  await told(1)
  await until('the next one to be planned', () => clock.planned === 1)
  clock.advance(100)
  await told(2)
  expect(beats[1]?.runtime).toEqual([nobody])
})

it('says nothing any more once it is stopped', async () => {
  const { clock, beats, heartbeat, run, told } = open()
  await told(1)
  heartbeat.stop()
  run([nobody])
  clock.advance(10_000)
  expect(clock.planned).toBe(0)
  expect(beats).toHaveLength(1)
})
