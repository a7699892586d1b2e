import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AgentProcess, Log } from '../src-core/index.ts'
import { AgentId } from '../src-shared/ids.ts'
import { createChildLauncher } from './child-launcher.ts'

const AGENT = AgentId.parse('agent-1')

/** Answers what it gets, tells its environment, and ends or throws when told to. */
const ECHO = `
process.on('message', (message) => {
  if (message === 'env') process.send(process.env)
  else if (message === 'print') { console.log('out'); console.error('err'); process.send('printed') }
  else if (message === 'exit') process.exit(7)
  else if (message === 'hang') for (;;) {}
  else process.send({ echo: message })
})
process.on('disconnect', () => process.exit(0))
process.send('hello')
`

let folder: string
let program: string
let running: AgentProcess[]
let lines: string[]

const keep = (text: string, fields?: Record<string, unknown>) => {
  lines.push(`${text}: ${String(fields?.text)}`)
}
const log: Log = { debug: keep, info: keep, warn: keep, error: keep }

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-launch-'))
  program = join(folder, 'echo.mjs')
  await writeFile(program, ECHO)
  running = []
  lines = []
})
afterEach(async () => {
  for (const agent of running) agent.kill()
  await rm(folder, { recursive: true, force: true })
})

function launch(path = program, env: Record<string, string> = {}) {
  const agent = createChildLauncher(path, log).launch(AGENT, env)
  running.push(agent)
  const heard: unknown[] = []
  const waiting: (() => void)[] = []
  agent.channel.onMessage((message) => {
    heard.push(message)
    for (const next of waiting.splice(0)) next()
  })
  const exit = new Promise<{ code: number | null; reason: string }>((resolve) =>
    agent.onExit(resolve),
  )
  const hears = async (count: number) => {
    while (heard.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
    return heard
  }
  return { agent, hears, exit }
}

it('starts a process and speaks with it in structured values', async () => {
  const { agent, hears } = launch()
  agent.channel.send({ at: new Date(0), bytes: new Uint8Array([1, 2]), map: new Map([['a', 1]]) })
  expect(await hears(2)).toEqual([
    'hello',
    { echo: { at: new Date(0), bytes: new Uint8Array([1, 2]), map: new Map([['a', 1]]) } },
  ])
  expect(agent.pid()).toBeGreaterThan(0)
})

it('gives it the environment that it is told to, and nothing else', async () => {
  const { agent, hears } = launch(program, { ONLY: 'this' })
  agent.channel.send('env')
  const [, env] = await hears(2)
  expect(Object.keys(env as object).filter((name) => !name.startsWith('NODE_CHANNEL'))).toEqual([
    'ONLY',
  ])
})

it('gives it a group of its own', async () => {
  if (process.platform !== 'linux') return
  const { agent, hears } = launch()
  await hears(1)
  const stat = await readFile(`/proc/${agent.pid()}/stat`, 'utf8')
  expect(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]).toBe(String(agent.pid()))
})

it('logs what it prints', async () => {
  const { agent, hears, exit } = launch()
  agent.channel.send('print')
  await hears(2)
  agent.channel.send('exit')
  await exit
  expect(lines.sort()).toEqual(['an agent printed: err', 'an agent printed: out'])
})

it('tells its exit once, also to whoever asks late', async () => {
  const { agent, exit } = launch()
  agent.channel.send('exit')
  expect(await exit).toEqual({ code: 7, reason: 'it exited with 7' })
  const late = await new Promise((resolve) => agent.onExit(resolve))
  expect(late).toEqual({ code: 7, reason: 'it exited with 7' })
  agent.channel.send('nobody hears this')
})

it('kills a process that listens to nothing', async () => {
  const { agent, hears, exit } = launch()
  await hears(1)
  agent.channel.send('hang')
  agent.kill()
  expect(await exit).toEqual({ code: null, reason: 'it was ended by SIGKILL' })
})

it('tells a program that is missing as an exit', async () => {
  const { exit } = launch(join(folder, 'nothing.mjs'))
  expect((await exit).code).toBe(1)
})

it('closes the channel, so that the process ends by itself', async () => {
  const { agent, hears, exit } = launch()
  await hears(1)
  agent.channel.close()
  expect((await exit).code).toBe(0)
})
