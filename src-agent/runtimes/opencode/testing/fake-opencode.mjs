#!/usr/bin/env node
// A server that speaks like `opencode serve` and misbehaves as FAKE says.
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'

const mode = process.env.FAKE ?? ''
/** The conversation of its subagent. */
const CHILD = 'ses_child1'
const port = Number(process.argv[process.argv.indexOf('--port') + 1])
const password = process.env.OPENCODE_SERVER_PASSWORD
if (mode === 'never-ready') setInterval(() => undefined, 1_000)
else {
  writeFileSync(
    join(dirname(process.env.OPENCODE_CONFIG), 'guard.done'),
    mode === 'unwiped' ? 'removed' : 'wiped',
  )
  start()
}

function start() {
  const streams = new Set()
  const record = []
  const send = (type, properties) => {
    const text = `data: ${JSON.stringify({ id: 'evt_1', type, properties })}\n\n`
    for (const stream of streams) stream.write(text)
  }
  const session = { id: 'ses_fake1', directory: process.cwd(), time: {} }
  const delegated = [
    {
      info: { id: 'msg_8', sessionID: CHILD, role: 'assistant', time: { created: 1 } },
      parts: [{ id: 'prt_8', sessionID: CHILD, messageID: 'msg_8', type: 'text', text: 'Found.' }],
    },
  ]
  if (mode === 'delegated') {
    record.push({
      info: { id: 'msg_1', sessionID: session.id, role: 'user', time: { created: 1 } },
      parts: [],
    })
  }
  if (mode === 'unheard') {
    record.push(
      {
        info: { id: 'msg_o1', sessionID: session.id, role: 'user', time: { created: 1 } },
        parts: [],
      },
      {
        info: {
          ...{
            id: 'msg_o2',
            sessionID: session.id,
            role: 'assistant',
            parentID: 'msg_o1',
            cost: 9,
          },
          time: { created: 1, completed: 2 },
        },
        parts: [textPart('prt_o2', session.id, 'msg_o2', 'Old.')],
      },
    )
  }
  const cut = () => {
    for (const stream of streams) stream.socket.destroy()
  }
  const turn = (parts) => {
    const user = { id: 'msg_1', sessionID: session.id, role: 'user', time: { created: Date.now() } }
    const stored = parts.map((part, index) => ({
      ...part,
      ...{ id: `prt_${index}`, sessionID: session.id, messageID: 'msg_1' },
    }))
    record.push({ info: user, parts: stored })
    if (mode === 'unheard') {
      const time = { created: Date.now(), completed: Date.now() }
      const info = {
        id: 'msg_2',
        sessionID: session.id,
        role: 'assistant',
        parentID: 'msg_1',
        time,
      }
      record.push({ info, parts: [textPart('prt_9', session.id, 'msg_2', 'Said.')] })
      return cut()
    }
    send('message.updated', { sessionID: session.id, info: user })
    for (const part of stored) send('message.part.updated', { part })
    const answer = {
      ...{ id: 'msg_2', sessionID: session.id, role: 'assistant', parentID: 'msg_1' },
      time: { created: Date.now() },
    }
    send('message.updated', { sessionID: session.id, info: answer })
    if (mode.startsWith('reply-')) return ask(answer)
    if (mode === 'delegates') return delegate(answer)
    if (mode === 'odd') send('session.brewed', { sessionID: session.id })
    const text = textPart('prt_9', session.id, 'msg_2', 'Said.')
    const over = { ...answer, time: { ...answer.time, completed: Date.now() }, cost: 0.25 }
    record.push({ info: over, parts: [text] })
    if (mode === 'disconnect') {
      // Half an event, and the rest never comes.
      for (const stream of streams) stream.write('data: {"id":"evt_2","type":"message.part.upd')
      return cut()
    }
    send('message.part.updated', { part: text })
    send('message.updated', { sessionID: session.id, info: over })
    send('session.idle', { sessionID: session.id })
    if (mode === 'dies') setTimeout(() => process.exit(3), 50)
  }
  /** A call waits for a person. */
  const ask = (answer) => {
    const input = { command: 'ls' }
    const state = { status: 'running', input, time: { start: Date.now() } }
    const part = toolPart(answer, 'bash', state)
    send('message.part.updated', { part })
    send('permission.asked', {
      ...{ id: 'per_1', sessionID: session.id, permission: 'bash', patterns: ['ls'] },
      ...{ metadata: input, always: ['ls *'], tool: { messageID: answer.id, callID: 'call_1' } },
    })
  }
  /** A subagent has worked, and the stream is cut before the last words of the turn. */
  const delegate = (answer) => {
    const now = { start: Date.now(), end: Date.now() }
    const state = {
      status: 'completed',
      input: { description: 'look' },
      output: 'Found.',
      time: now,
    }
    const part = toolPart(answer, 'task', { ...state, metadata: { sessionId: CHILD } })
    const over = { ...answer, time: { created: Date.now(), completed: Date.now() } }
    send('message.part.updated', { part })
    send('message.updated', { sessionID: session.id, info: over })
    record.push({ info: over, parts: [part] })
    const child = { ...over, id: 'msg_8', sessionID: CHILD, parentID: 'msg_7' }
    delegated[0] = { info: child, parts: [textPart('prt_8', CHILD, 'msg_8', 'Found.')] }
    const last = { ...over, id: 'msg_3', cost: 0.25 }
    record.push({ info: last, parts: [textPart('prt_9', session.id, 'msg_3', 'Said.')] })
    // All that was told is heard.
    for (const stream of streams) stream.end()
  }
  const server = createServer((request, response) => {
    const account = Buffer.from(`opencode:${password}`).toString('base64')
    if (mode === 'unauthorized' || request.headers.authorization !== `Basic ${account}`) {
      response.writeHead(401).end()
      return
    }
    const [path] = request.url.split('?')
    const answer = (value, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    }
    if (mode === 'mute' && path.startsWith('/session/')) return
    if (path === '/event') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"type":"server.connected","properties":{}}\n\n')
      streams.add(response)
      response.on('close', () => streams.delete(response))
      return
    }
    if (path === '/global/health') return answer({ version: '1.18.33' })
    if (path === '/mcp' || path === '/session/status') return answer({})
    if (path === '/permission/per_1/reply' && mode.startsWith('reply-')) {
      return answer({ data: { message: 'It did not work.' } }, Number(mode.slice('reply-'.length)))
    }
    if (path === '/permission') return answer([])
    if (path === '/config/providers') return answer({ providers: [] })
    if (path === '/session') return answer(session)
    if (path === `/session/${session.id}`) return answer(session)
    if (path === `/session/${session.id}/message`) return answer(record)
    if (path === `/session/${session.id}/children`) {
      return answer(mode === 'delegated' ? [{ ...session, id: CHILD }] : [])
    }
    if (path === `/session/${CHILD}/children`) return answer([])
    if (path === `/session/${CHILD}/message`) return answer(delegated)
    if (path.endsWith('/prompt_async')) {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => {
        response.writeHead(204).end()
        turn(JSON.parse(text).parts)
      })
      return
    }
    if (path.startsWith('/session/')) {
      return answer({ name: 'NotFoundError', data: { message: 'Session not found' } }, 404)
    }
    return answer(true)
  })
  server.on('error', (error) => {
    console.error(`Failed to start server: ${error.code}`)
    process.exit(1)
  })
  server.listen(port, '127.0.0.1', () => {
    console.log(`opencode server listening on http://127.0.0.1:${port}`)
  })
}

function textPart(id, sessionID, messageID, text) {
  const time = { start: Date.now(), end: Date.now() }
  return { id, sessionID, messageID, type: 'text', text, time }
}

function toolPart({ id, sessionID }, tool, state) {
  return { id: 'prt_5', sessionID, messageID: id, type: 'tool', tool, callID: 'call_1', state }
}
