// A scripted agent of the Agent Client Protocol. Its arguments say how it starts and what it can do; the last `!!` of a
// prompt is followed by JSON: the steps of the turn, one after the other.
import { closeSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const options = new Set(process.argv.slice(2))
const optionOf = (option) =>
  process.argv.find((each) => each.startsWith(`${option}=`))?.slice(option.length + 1)
const record = optionOf('--record')
/** As an answer that opens a conversation has them; absent for an agent without modes. */
const modes = JSON.parse(optionOf('--modes') ?? 'null') ?? undefined
let needsLogin = options.has('--login-first')
const SESSION = 'fake-1'
/** What it keeps of the conversation: the updates that it told, with the user's messages between. */
const kept =
  record !== undefined && existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : []
const waiting = new Map()
let asked = 0
let cancel = () => undefined

const write = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const tell = (update) => write({ method: 'session/update', params: { sessionId: SESSION, update } })
const say = (text) =>
  tell({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
const keep = (update) => {
  kept.push(update)
  if (record !== undefined) writeFileSync(record, JSON.stringify(kept))
}
const ask = (method, params) => {
  const id = `ask-${++asked}`
  write({ id, method, params: { sessionId: SESSION, ...params } })
  return new Promise((resolve) => waiting.set(id, resolve))
}

async function run(steps, cancelled) {
  for (const step of steps) {
    if (step.update !== undefined) {
      tell(step.update)
      keep(step.update)
    }
    if (step.raw !== undefined) process.stdout.write(step.raw)
    // Answers to these are said, so that a test sees them.
    if (step.ask !== undefined) {
      const all = await Promise.all(step.ask.map(([method, params]) => ask(method, params)))
      say(JSON.stringify(all))
    }
    if (step.mode === 'say') say(`mode ${modes.currentModeId}`)
    if (step.error !== undefined) return { error: step.error }
    if (step.exit !== undefined) process.exit(step.exit)
    if (step.hang === true) {
      await Promise.race([cancelled, new Promise(() => undefined)])
      return { result: { stopReason: 'cancelled' } }
    }
    if (step.close !== undefined) closeSync(step.close)
    if (step.wait !== undefined) await sleep(step.wait)
    if (step.deaf === true) await new Promise(() => undefined)
  }
  return { result: { stopReason: steps.at(-1)?.stop ?? 'end_turn' } }
}

const METHODS = {
  initialize: async () => {
    if (options.has('--mute')) await new Promise(() => undefined)
    if (options.has('--no-protocol')) return { result: { hello: true } }
    return {
      result: {
        protocolVersion: 1,
        agentCapabilities: {
          loadSession: !options.has('--no-load'),
          mcpCapabilities: { http: !options.has('--no-http') },
        },
        authMethods: [{ id: 'x', name: 'Fake login', description: 'Run `fake login`' }],
        agentInfo: { name: 'fake', version: '0.1.0' },
      },
    }
  },
  'session/new': async () => {
    if (options.has('--auth'))
      return { error: { code: -32000, message: 'Authentication required' } }
    return { result: { sessionId: SESSION, modes } }
  },
  'session/load': async ({ sessionId }) => {
    if (sessionId !== SESSION) return { error: { code: -32603, message: 'No such session' } }
    for (const update of kept) tell(update)
    return { result: { modes } }
  },
  'session/set_mode': async ({ modeId }) => {
    if (options.has('--mode-mute')) await new Promise(() => undefined)
    if (options.has('--mode-fails')) return { error: { code: -32603, message: 'No such mode' } }
    modes.currentModeId = modeId
    tell({ sessionUpdate: 'current_mode_update', currentModeId: modeId })
    return { result: {} }
  },
  'session/prompt': async ({ prompt }) => {
    if (needsLogin) {
      needsLogin = false
      return { error: { code: -32000, message: 'Authentication required' } }
    }
    const text = prompt.map((block) => block.text ?? '').join('')
    keep({
      sessionUpdate: 'user_message_chunk',
      messageId: `m${kept.length}`,
      content: { type: 'text', text },
    })
    const cancelled = new Promise((resolve) => {
      cancel = resolve
    })
    if (options.has('--echo')) say(JSON.stringify(prompt))
    const at = text.lastIndexOf('!!')
    const answer = await run(at === -1 ? [] : JSON.parse(text.slice(at + 2)), cancelled)
    if (options.has('--die-idle')) setTimeout(() => process.exit(7), 50)
    return answer
  },
}

if (options.has('--garbage')) process.stdout.write('Welcome to the fake agent!\n')
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line)
  if (message.method === undefined) {
    const { jsonrpc: _, id, ...answer } = message
    waiting.get(id)?.(answer)
  } else if (message.method === 'session/cancel') {
    cancel()
  } else {
    const method = METHODS[message.method]
    const answered =
      method === undefined
        ? Promise.resolve({ error: { code: -32601, message: 'Method not found' } })
        : method(message.params)
    void answered.then((answer) => write({ id: message.id, ...answer }))
  }
  await sleep(0)
}
if (options.has('--linger')) {
  closeSync(1)
  await sleep(2_000)
}
