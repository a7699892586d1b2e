#!/usr/bin/env node
// A `codex app-server` that misbehaves: the last argument says how before it is ready, the text of a message after that.
import { createInterface } from 'node:readline'

const how = process.argv.at(-1)
const THREAD = '01a229ae-2452-7770-a704-00e7009862e6'
const print = (text) => process.stdout.write(text)
const say = (message) => print(`${JSON.stringify(message)}\n`)
const tell = (method, params) => say({ method, params: { threadId: THREAD, ...params } })
let turns = 0

if (how === 'dies') {
  process.stderr.write('no such config.toml\n')
  process.exit(7)
}

const ACTIONS = {
  strange() {
    tell('thing/happened', { some: 'thing' })
    tell('thing/happened', { some: 'other thing' })
    tell('item/completed', { item: { type: 'hologram', id: 'h1' } })
    tell('item/completed', { item: 'none' })
    tell('turn/plan/updated', { plan: 'none' })
    say({ id: 'ask-1', method: 'thing/mayI', params: { threadId: THREAD } })
    print('this is no message\n{"half": \n\n')
    print(`${JSON.stringify({ big: 'x'.repeat(33 * 1024 * 1024) })}\n`)
    tell('error', { error: { message: 'hm', codexErrorInfo: null }, willRetry: true })
    tell('item/completed', { item: { type: 'agentMessage', id: 'a1', text: 'still here' } })
    end()
  },
  'half-line'() {
    tell('item/started', {
      item: { type: 'commandExecution', id: 'c1', command: 'ls', status: 'inProgress' },
    })
    print('{"method":"item/comp')
    setTimeout(() => process.exit(3), 50)
  },
  'dies-later'() {
    end()
    setTimeout(() => process.exit(4), 100)
  },
  'never-ends'() {},
  'asks-and-reads-nothing'() {
    const item = { type: 'commandExecution', id: 'c1', command: 'make', status: 'inProgress' }
    tell('item/started', { item })
    const params = { threadId: THREAD, itemId: 'c1', command: 'make' }
    say({ id: 'ask-2', method: 'item/commandExecution/requestApproval', params })
    process.stdin.pause()
    // Nothing else keeps it running then.
    setInterval(() => undefined, 60_000)
  },
}

function end() {
  tell('turn/completed', { turn: { id: `t${turns}`, status: 'completed', items: [] } })
}

const RESULTS = {
  initialize: () => ({ userAgent: 'ballet/0.171.0 (fake)' }),
  'account/read': () => ({
    account: null,
    requiresOpenaiAuth: how === 'logged-out',
  }),
  'thread/start': () => ({ thread: { id: THREAD, path: null } }),
  'turn/start': ({ input }) => {
    turns += 1
    setTimeout(() => {
      tell('turn/started', { turn: { id: `t${turns}`, status: 'inProgress', items: [] } })
      ACTIONS[input[0].text]?.()
    })
    return { turn: { id: `t${turns}`, status: 'inProgress', items: [] } }
  },
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (how === 'silent') return
  if (id === 'ask-1') {
    // What the client answered, told as the agent's own words.
    tell('item/completed', { item: { type: 'agentMessage', id: 'a2', text: line } })
    return
  }
  const result = RESULTS[method]
  if (result !== undefined) say({ id, result: result(params ?? {}) })
})
