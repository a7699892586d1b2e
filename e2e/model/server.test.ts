import { appendFile, readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { withTempFolder } from '../support/temp-folder.ts'
import { waitFor } from '../support/wait-for.ts'
import { type ModelServer, type ModelServerOptions, startModelServer } from './server.ts'

const open: ModelServer[] = []

async function start(options: ModelServerOptions = {}): Promise<ModelServer> {
  const server = await startModelServer(options)
  open.push(server)
  return server
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

interface Ask {
  readonly stream?: boolean
  readonly session?: string
  readonly signal?: AbortSignal
}

function ask(server: ModelServer, content: string, options: Ask = {}): Promise<Response> {
  return fetch(`${server.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': 'very-secret',
      authorization: 'Bearer very-secret',
      ...(options.session ? { 'x-claude-code-session-id': options.session } : {}),
    },
    body: JSON.stringify({
      model: 'claude-sonnet-5-5',
      max_tokens: 100,
      stream: options.stream ?? true,
      system: [{ type: 'text', text: 'You are a model.' }],
      messages: [{ role: 'user', content }],
      tools: [{ name: 'Bash' }, { name: 'Write' }],
    }),
    ...(options.signal ? { signal: options.signal } : {}),
  })
}

interface Event {
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: the events are looked at field by field
  readonly data: any
}

function parseEvents(body: string): Event[] {
  return body
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => {
      const match = /^event: (.*)\ndata: (.*)$/u.exec(frame)
      if (!match) throw new Error(`No event: ${frame}`)
      return { name: match[1] ?? '', data: JSON.parse(match[2] ?? '') }
    })
}

describe('a streamed answer', () => {
  it('has the events of the API in their order', async () => {
    const server = await start()
    const script = [
      {
        thinking: 'Let me see',
        text: 'Hello there',
        chunks: 2,
        tools: [{ name: 'Bash', input: { command: 'echo "hi"', timeout: 5 } }],
      },
    ]
    const response = await ask(server, `@@${JSON.stringify(script)}@@`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const events = parseEvents(await response.text())
    expect(events.every((event) => event.name === event.data.type)).toBe(true)
    expect(events.map((event) => event.data.delta?.type ?? event.name)).toEqual([
      'message_start',
      'ping',
      'content_block_start',
      'thinking_delta',
      'thinking_delta',
      'signature_delta',
      'content_block_stop',
      'content_block_start',
      'text_delta',
      'text_delta',
      'content_block_stop',
      'content_block_start',
      'input_json_delta',
      'input_json_delta',
      'input_json_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    const json = events.map((event) => event.data.delta?.partial_json ?? '').join('')
    expect(JSON.parse(json)).toEqual({ command: 'echo "hi"', timeout: 5 })
    const startEvent = events[0]?.data
    expect(startEvent.message).toMatchObject({
      id: expect.stringMatching(/^msg_/u),
      role: 'assistant',
      model: 'claude-sonnet-5-5',
      content: [],
      stop_reason: null,
      usage: { output_tokens: 1 },
    })
    expect(events.at(-2)?.data).toMatchObject({
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: expect.any(Number) },
    })
  })

  it('has ids of its own and the same usage each time', async () => {
    const server = await start()
    const bodies = await Promise.all(
      [1, 2].map(async () => (await ask(server, '@@[{"tool":"Bash"}]@@')).text()),
    )
    const [first, second] = bodies.map(parseEvents)
    expect(first?.[0]?.data.message.id).not.toBe(second?.[0]?.data.message.id)
    expect(first?.[2]?.data.content_block.id).not.toBe(second?.[2]?.data.content_block.id)
    expect(first?.at(-2)?.data.usage).toEqual(second?.at(-2)?.data.usage)
  })

  it('takes the stop reason, the usage and the headers of the step', async () => {
    const server = await start()
    const script =
      '@@[{"text":"x","stop":"max_tokens","usage":{"output_tokens":7},"headers":{"anthropic-ratelimit-unified-status":"allowed"}}]@@'
    const response = await ask(server, script)
    expect(response.headers.get('anthropic-ratelimit-unified-status')).toBe('allowed')
    expect(parseEvents(await response.text()).at(-2)?.data).toMatchObject({
      delta: { stop_reason: 'max_tokens' },
      usage: { output_tokens: 7 },
    })
  })

  it('stops at a gate until it is released', async () => {
    const server = await start()
    const response = await ask(server, '@@[{"text":"abcdef","chunks":3,"gate":"g"}]@@')
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    while (!seen.includes('text_delta')) seen += (await reader?.read())?.value ?? ''
    expect(seen).toContain('"ab"')
    expect(seen).not.toContain('"cd"')
    const released = await fetch(`${server.url}/__release?gate=g`, { method: 'POST' })
    expect(released.status).toBe(200)
    for (;;) {
      const part = await reader?.read()
      if (!part || part.done) break
      seen += part.value
    }
    expect(seen).toContain('"cd"')
    expect(seen).toContain('message_stop')
  })

  it('waits between its pieces', async () => {
    const server = await start()
    const from = performance.now()
    await (await ask(server, '@@[{"text":"abcd","chunks":4,"delay":40}]@@')).text()
    expect(performance.now() - from).toBeGreaterThan(110)
  })
})

describe('other answers', () => {
  it('gives a whole message without streaming', async () => {
    const server = await start()
    const response = await ask(server, '@@[{"text":"hi","tool":"Bash"}]@@', { stream: false })
    expect(await response.json()).toMatchObject({
      type: 'message',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'tool_use', name: 'Bash', input: {} },
      ],
      stop_reason: 'tool_use',
    })
  })

  it.each([
    [400, 'invalid_request_error', 'false'],
    [401, 'authentication_error', 'false'],
    [403, 'permission_error', 'false'],
    [404, 'not_found_error', 'false'],
    [413, 'request_too_large', 'false'],
    [429, 'rate_limit_error', 'true'],
    [500, 'api_error', 'true'],
    [529, 'overloaded_error', 'true'],
  ])('fails with %i as the API does', async (status, type, retry) => {
    const server = await start()
    const script = [{ fail: [{ status, headers: { 'retry-after': '2' } }] }]
    const response = await ask(server, `@@${JSON.stringify(script)}@@`)
    expect(response.status).toBe(status)
    expect(response.headers.get('x-should-retry')).toBe(retry)
    expect(response.headers.get('retry-after')).toBe('2')
    expect(await response.json()).toMatchObject({ type: 'error', error: { type } })
  })

  it('fails so often as the step says, for each session', async () => {
    const server = await start()
    const script =
      '@@[{"text":"fine","fail":[{"status":529,"times":2},{"status":429,"times":1}]}]@@'
    const statuses = async (session: string): Promise<number[]> => {
      const found: number[] = []
      for (let attempt = 0; attempt < 4; attempt += 1) {
        const response = await ask(server, script, { session })
        await response.text()
        found.push(response.status)
      }
      return found
    }
    expect(await statuses('a')).toEqual([529, 529, 429, 200])
    expect(await statuses('b')).toEqual([529, 529, 429, 200])
    expect(server.requests().map((request) => request.attempt)).toEqual([0, 1, 2, 3, 0, 1, 2, 3])
  })

  it('closes the connection for status 0', async () => {
    const server = await start()
    await expect(ask(server, '@@[{"fail":[{"status":0}]}]@@')).rejects.toThrow('fetch failed')
    await server.waitFor((request) => request.abortedAt !== undefined)
  })

  it('cuts a stream in its middle', async () => {
    const server = await start()
    const response = await ask(server, '@@[{"text":"abcdef","chunks":6,"cut":1}]@@')
    await expect(response.text()).rejects.toThrow('terminated')
    const again = await ask(server, '@@[{"text":"abcdef","chunks":6,"cut":1}]@@')
    expect(await again.text()).toContain('message_stop')
  })

  it('hangs after the headers and records when the client went away', async () => {
    const server = await start()
    const abort = new AbortController()
    const response = await ask(server, '@@[{"headThenHang":true}]@@', { signal: abort.signal })
    expect(response.status).toBe(200)
    expect(server.requests()[0]).toMatchObject({ status: 200, abortedAt: undefined })
    abort.abort()
    const request = await server.waitFor(({ abortedAt }) => abortedAt !== undefined)
    expect(request).toMatchObject({ status: 200, endedAt: undefined })
  })

  it('refuses what is no request and says what is wrong with a script', async () => {
    const server = await start()
    const empty = await fetch(`${server.url}/v1/messages`, { method: 'POST', body: '{}' })
    expect(empty.status).toBe(400)
    const wrong = await ask(server, '@@[{"txt":"x"}]@@')
    expect(wrong.status).toBe(400)
    expect(await wrong.text()).toContain('txt')
  })

  it('answers the side requests of the runtime', async () => {
    const server = await start()
    expect((await fetch(server.url, { method: 'HEAD' })).status).toBe(200)
    const models = await (await fetch(`${server.url}/v1/models`)).json()
    expect(models).toMatchObject({ data: [{ type: 'model', id: 'claude-opus-5-5' }, {}, {}] })
    const count = await fetch(`${server.url}/v1/messages/count_tokens`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'abcd' }] }),
    })
    expect(await count.json()).toEqual({ input_tokens: expect.any(Number) })
    expect((await fetch(`${server.url}/api/unknown`)).status).toBe(404)
  })

  it('listens on the loopback interface only', async () => {
    const server = await start()
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`)
    const error = await new Promise<unknown>((resolve) => {
      httpRequest({ host: '127.0.0.2', port: server.port }, () => resolve('answered'))
        .on('error', resolve)
        .end()
    })
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('the record', () => {
  it('keeps what the model was sent, with keys masked', async () => {
    const server = await start()
    await (await ask(server, 'hello', { session: 's-1' })).text()
    const [request] = server.requestsFor(({ session }) => session === 's-1')
    expect(request).toMatchObject({
      n: 1,
      method: 'POST',
      path: '/v1/messages?beta=true',
      model: 'claude-sonnet-5-5',
      system: [{ type: 'text', text: 'You are a model.' }],
      messages: [{ role: 'user', content: 'hello' }],
      tools: ['Bash', 'Write'],
      step: { script: 'fallback', index: 0, total: 1 },
      userText: 'hello',
    })
    expect(request?.headers['x-api-key']).toBe('(11 characters)')
    expect(JSON.stringify(server.requests())).not.toContain('very-secret')
  })

  it('is there over HTTP, from a number on', async () => {
    const server = await start()
    await (await ask(server, 'one')).text()
    await (await ask(server, 'two')).text()
    const since = await (await fetch(`${server.url}/__requests?since=1`)).json()
    expect(since).toMatchObject([{ n: 2, userText: 'two' }])
  })

  it('waits for a request, and says at the limit which there were', async () => {
    const server = await start()
    const waiting = server.waitFor(({ userText }) => userText === 'later')
    await (await ask(server, 'later')).text()
    expect(await waiting).toMatchObject({ userText: 'later' })
    await expect(server.waitFor(() => false, { timeoutMs: 20 })).rejects.toThrow(/user="later"/u)
  })

  it('survives the server: the file is continued, a half line in it is left', async () => {
    await withTempFolder(async (folder) => {
      const recordFile = join(folder, 'record.jsonl')
      const first = await start({ recordFile })
      await (await ask(first, 'before')).text()
      await first.waitFor(({ endedAt }) => endedAt !== undefined)
      await first.close()
      open.splice(open.indexOf(first), 1)
      await appendFile(recordFile, '{"line":"requ')
      const second = await start({ recordFile, port: first.port })
      expect(second.url).toBe(first.url)
      await (await ask(second, 'after')).text()
      await second.waitFor(({ n, endedAt }) => n === 2 && endedAt !== undefined)
      expect(second.requests().map(({ n, userText, status }) => [n, userText, status])).toEqual([
        [1, 'before', 200],
        [2, 'after', 200],
      ])
      const third = await start({ recordFile })
      expect(third.requests()).toEqual(second.requests())
      expect(await readFile(recordFile, 'utf8')).not.toContain('very-secret')
    })
  })

  it('forgets on reset and numbers on', async () => {
    const server = await start()
    await (await ask(server, 'one')).text()
    server.reset()
    expect(server.requests()).toEqual([])
    await (await ask(server, 'two')).text()
    expect(server.requests().map(({ n }) => n)).toEqual([2])
  })

  it('keeps no more than it was told', async () => {
    const server = await start({ keep: 2 })
    for (const content of ['a', 'b', 'c']) await (await ask(server, content)).text()
    await waitFor('the last request', () => server.requests().length === 2)
    expect(server.requests().map(({ userText }) => userText)).toEqual(['b', 'c'])
  })
})
