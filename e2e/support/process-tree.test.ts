import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import {
  descendantsOf,
  endProcesses,
  isAlive,
  parseStat,
  processesSince,
  processesWithVariable,
  processOf,
} from './process-tree.ts'
import { waitFor } from './wait-for.ts'

const marker = `BALLET_TREE_${randomUUID().slice(0, 8)}`

afterEach(async () => {
  await endProcesses(await processesWithVariable(marker))
})

function start(script: string, value = '1'): ChildProcess {
  return spawn('sh', ['-c', script], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, [marker]: value },
  })
}

function marked(command: string) {
  return waitFor(command, async () =>
    (await processesWithVariable(marker)).find((info) => info.command === command),
  )
}

describe.runIf(process.platform === 'linux')('processes', () => {
  it('are found by the variable also when they left group, session and parent', async () => {
    const child = start('setsid sleep 301 & exit 0')
    const left = await marked('sleep 301')
    await waitFor('the parent to end', async () => !(await processOf(child.pid ?? -1)))
    const sleeping = await processOf(left.pid)
    expect(sleeping?.parent).not.toBe(child.pid)
    expect(sleeping?.session).toBe(left.pid)
    expect((await processesWithVariable(marker, 'other')).length).toBe(0)
    expect((await processesWithVariable(marker, '1')).map(({ pid }) => pid)).toEqual([left.pid])
  })

  it('are found as descendants over several generations', async () => {
    const child = start('sh -c "sleep 302; true"; true')
    const sleeping = await marked('sleep 302')
    const found = await descendantsOf(child.pid ?? -1)
    expect(found.map(({ pid }) => pid)).toContain(sleeping.pid)
    expect(found.length).toBe(2)
  })

  it('are the same only with the same start time', async () => {
    start('exec sleep 303')
    const sleeping = await marked('sleep 303')
    expect(await isAlive(sleeping)).toBe(true)
    const other = { pid: sleeping.pid, startTime: sleeping.startTime - 1 }
    expect(await isAlive(other)).toBe(false)
    await endProcesses([other])
    expect(await isAlive(sleeping)).toBe(true)
    await endProcesses([sleeping])
    await waitFor('the end', async () => !(await isAlive(sleeping)))
  })

  it('are listed from a start time on', async () => {
    const self = await processOf(process.pid)
    start('exec sleep 304')
    const sleeping = await marked('sleep 304')
    const since = await processesSince(sleeping.startTime)
    expect(since.map(({ pid }) => pid)).toContain(sleeping.pid)
    expect(since.map(({ pid }) => pid)).not.toContain(self?.pid)
  })

  it('count as ended when nobody has collected them yet', async () => {
    // The shell starts a child, becomes sleep, and so never collects it.
    start('true & exec sleep 305')
    const sleeping = await marked('sleep 305')
    await waitFor('the child to end', async () => (await descendantsOf(sleeping.pid)).length === 0)
  })
})

it('reads the line of a program whose name holds parentheses and spaces', () => {
  const fields = ['S', 7, 8, 9, ...Array.from({ length: 15 }, () => 0), 12345, 0]
  expect(parseStat(`42 (a) b (c) ${fields.join(' ')}`, 'a\0--x\0')).toEqual({
    pid: 42,
    state: 'S',
    parent: 7,
    group: 8,
    session: 9,
    startTime: 12345,
    command: 'a --x',
  })
})
