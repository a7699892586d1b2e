import { Agent, request } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { QUESTION_LIMITS } from '../../src-shared/mcp-tools.ts'
import { type McpServer, openMcpServer } from './http-server.ts'
import { readCall } from './tools.ts'

let server: McpServer
let calls: { name: string; args: unknown }[]
beforeEach(async () => {
  calls = []
  server = await openMcpServer(async (name, args) => {
    const read = readCall(name, args, () => '0190c0de-0000-7000-8000-000000000001')
    if ('refusal' in read) return { isError: true, text: read.refusal }
    calls.push({ name, args })
    return { isError: false, text: `Recorded ${name}.` }
  })
})
afterEach(() => server.close())

type Given = {
  method?: string
  path?: string
  headers?: Record<string, string>
  body?: string
  agent?: Agent
}

/** One HTTP request as a program that knows nothing would make it. */
function http({ method = 'POST', path, headers = {}, body = '', agent }: Given) {
  const url = new URL(path ?? '/mcp', server.url)
  type Answer = { status: number; text: string; reused: boolean } & Record<
    'connection' | 'keepAlive',
    string | undefined
  >
  return new Promise<Answer>((resolve, reject) => {
    const asked = request(url, { method, headers, ...(agent ? { agent } : {}) }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => {
        const keepAlive = response.headers['keep-alive']?.toString()
        const { connection } = response.headers
        const status = response.statusCode ?? 0
        resolve({ status, text, reused: asked.reusedSocket, connection, keepAlive })
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

const authorization = () => ({ authorization: `Bearer ${server.token}` })

async function rpc(method: string, params: object = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })
  const { status, text } = await http({ headers: authorization(), body })
  expect(status).toBe(200)
  return JSON.parse(text) as { id: number; result?: Record<string, unknown>; error?: unknown }
}

const call = async (name: string, args?: unknown) =>
  (await rpc('tools/call', { name, arguments: args })).result as {
    isError?: boolean
    content: { text: string }[]
  }

describe('the server of the tools', () => {
  it('takes as many messages at once as a runtime sends, and no more', async () => {
    const batch = async (count: number) => {
      const one = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      const body = JSON.stringify(Array(count).fill(one))
      return JSON.parse((await http({ headers: authorization(), body })).text) as unknown
    }
    expect(await batch(50)).toHaveLength(50)
    expect(await batch(20_000)).toMatchObject({ error: { message: expect.stringMatching('50') } })
  })

  it('keeps a connection that has asked for a stream, and closes none that is idle', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const headers = authorization()
    const refused = await http({ method: 'GET', headers, agent })
    expect(refused).toMatchObject({ status: 405, reused: false })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const next = await http({ headers, body, agent })
    // Node names the moment at which it will close.
    expect(next).toMatchObject({ status: 200, reused: true, keepAlive: undefined })
    // What was not read of a body must not be taken for the next request.
    const withBody = {
      method: 'DELETE',
      headers: { ...headers, 'content-length': '2' },
      body: '{}',
    }
    expect(await http({ ...withBody, agent })).toMatchObject({ status: 405, connection: 'close' })
    expect(await http({ headers, body, agent })).toMatchObject({ status: 200, reused: false })
    agent.destroy()
  })

  it('greets, lists four tools with schemas, and takes calls', async () => {
    const protocolVersion = '2025-11-25'
    const clientInfo = { name: 'a runtime', version: '1' }
    expect(
      await rpc('initialize', { protocolVersion, capabilities: {}, clientInfo }),
    ).toMatchObject({ id: 7, result: { protocolVersion, serverInfo: { name: 'ballet' } } })
    const { result } = await rpc('tools/list')
    expect(result?.tools).toMatchObject([
      {
        name: 'ask_question',
        description: expect.stringContaining('end your turn'),
        inputSchema: { type: 'object', required: ['question'] },
      },
      { name: 'record_assumption', inputSchema: { required: ['assumption', 'reason'] } },
      { name: 'report_progress', inputSchema: { required: ['summary'] } },
      { name: 'complete_stage', inputSchema: { required: ['summary', 'outcome'] } },
    ])
    expect(await call('complete_stage', { summary: 'All in.', outcome: 'done' })).toEqual({
      content: [{ type: 'text', text: 'Recorded complete_stage.' }],
    })
    expect(calls).toHaveLength(1)
  })

  it('answers what it does not know at once, and messages that want no answer with none', async () => {
    expect(await rpc('server/discover')).toMatchObject({ error: { code: -32_601 } })
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect(await http({ headers: authorization(), body })).toMatchObject({
      status: 202,
      text: '',
    })
    const two = [1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' }))
    const { text } = await http({ headers: authorization(), body: JSON.stringify(two) })
    expect(JSON.parse(text)).toMatchObject([{ id: 1 }, { id: 2 }])
  })

  it.each([
    ['no token', 401, {}],
    ['a wrong token', 401, { authorization: 'Bearer wrong' }],
    ['another scheme', 401, { authorization: 'Basic eDp4' }],
    ['a token of another length', 401, { authorization: `Bearer ${'x'.repeat(43)}` }],
  ])('refuses %s', async (_what, status, headers) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    expect(await http({ headers, body })).toMatchObject({ status })
  })

  it('refuses another host, a web page, another path and another method, token or not', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    for (const [given, status] of [
      [{ headers: { ...authorization(), host: 'evil.example' } }, 403],
      [{ headers: { ...authorization(), host: '127.0.0.1' } }, 403],
      [{ headers: { ...authorization(), origin: 'http://evil.example' } }, 403],
      [{ headers: { ...authorization(), origin: new URL(server.url).origin } }, 403],
      [{ headers: authorization(), path: '/' }, 404],
      [{ headers: authorization(), method: 'GET' }, 405],
      [{ headers: authorization(), method: 'DELETE' }, 405],
    ] as const) {
      const sent = status === 405 ? given : { ...given, body }
      expect((await http(sent)).status).toBe(status)
    }
    expect(calls).toEqual([])
  })

  it('refuses what is no JSON, no message, or too long, and lives on', async () => {
    const headers = authorization()
    expect(await http({ headers, body: '{"jsonrpc":' })).toMatchObject({ status: 400 })
    expect((await http({ headers, body: '{"a":1}' })).text).toContain('-32600')
    const long = JSON.stringify({ x: 'x'.repeat(3 * 1024 * 1024) })
    expect(await http({ headers, body: long })).toMatchObject({
      status: 413,
      text: expect.stringContaining('Shorten it'),
    })
    expect(await rpc('ping')).toMatchObject({ result: {} })
  })

  it('listens on this machine only, and not any more when it is closed', async () => {
    expect(new URL(server.url).hostname).toBe('127.0.0.1')
    await server.close()
    await expect(http({})).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('a call that does not fit', () => {
  it.each([
    ['empty', undefined, 'question: Invalid input'],
    ['without words', { question: ' \n' }, 'question: question must not be empty'],
    ['of the wrong kind', { question: 'A?', options: 'B' }, 'options: Invalid input'],
    ['an array', [], 'expected object'],
    [
      'with too many options',
      { question: 'A?', options: Array.from({ length: 11 }, () => ({ label: 'B' })) },
      'options: at most 10 options',
    ],
    ['of 100 KB', { question: 'x'.repeat(100_000) }, `${QUESTION_LIMITS.question} characters`],
  ])('%s is answered with how to make it right', async (_what, args, words) => {
    const read = readCall('ask_question', args, () => 'never')
    const refusal = 'refusal' in read ? read.refusal : ''
    expect(refusal).toContain(words)
    expect(refusal).toContain('Call it again with arguments such as {"question":')
    expect(refusal.length).toBeLessThan(2_000)
  })

  it('reaches the model as an error of the tool, and nobody else', async () => {
    const answer = await call('ask_question', { question: '' })
    expect(answer.isError).toBe(true)
    expect(answer.content[0]?.text).toContain('must not be empty')
    expect((await call('ask_human', {})).content[0]?.text).toContain('There are: ask_question, ')
    expect(await call('report_progress', { summary: 'x', done: 3, total: 2 })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('done must not be greater than total') }],
    })
    expect(calls).toEqual([])
  })
})
