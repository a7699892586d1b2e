import { afterEach, describe, expect, it } from 'vitest'
import { seenIn } from '../support/conversation.ts'
import { wholeText } from './messages.ts'
import { readResponsesRequest } from './responses.ts'
import { type ModelServer, startModelServer } from './server.ts'

const open: ModelServer[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function start(): Promise<ModelServer> {
  const server = await startModelServer()
  open.push(server)
  return server
}

const TOOLS = [
  { type: 'function', name: 'exec_command' },
  { type: 'namespace', name: 'mcp__ballet', tools: [{ type: 'function', name: 'ask_question' }] },
  { type: 'web_search' },
]

function ask(server: ModelServer, input: unknown, stream = true): Promise<Response> {
  return fetch(`${server.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'thread-id': 'thread-1' },
    body: JSON.stringify({ model: 'gpt', stream, instructions: 'Be good.', input, tools: TOOLS }),
  })
}

function said(text: string): object {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}

function call(id: string, name: string, input: object): object {
  return { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) }
}

// biome-ignore lint/suspicious/noExplicitAny: the events are looked at field by field
function parseEvents(body: string): any[] {
  return body
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)))
}

describe('the Responses API', () => {
  it('streams an answer with the tools that the request offers', async () => {
    const server = await start()
    const script = [
      {
        thinking: 'Let me see',
        text: 'Hello there',
        chunks: 2,
        tools: [
          { name: 'Bash', input: { command: 'echo hi' } },
          { name: 'mcp__ballet__ask_question', input: { question: 'Which?' } },
        ],
      },
    ]
    const response = await ask(server, [said(`@@${JSON.stringify(script)}@@`)])
    const events = parseEvents(await response.text())
    expect(events[0]).toMatchObject({ type: 'response.created' })
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta')
    expect(deltas.map(({ delta }) => delta)).toEqual(['Hello ', 'there'])
    const last = events.at(-1)
    expect(last).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
    expect(last.response.output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'Let me see' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'Hello there' }] },
      { type: 'function_call', name: 'exec_command' },
      { type: 'function_call', name: 'ask_question', namespace: 'mcp__ballet' },
    ])
    expect(JSON.parse(last.response.output[2].arguments)).toMatchObject({ cmd: 'echo hi' })
    expect(last.response.usage.total_tokens).toBe(
      last.response.usage.input_tokens + last.response.usage.output_tokens,
    )
  })

  it('goes on with the script after a result, and keeps what the model was sent', async () => {
    const server = await start()
    const script = '@@[{"tool":"Bash","input":{"command":"ls"}},{"text":"all there"}]@@'
    const input = [
      said('<environment_context>\n  <cwd>/somewhere</cwd>\n</environment_context>'),
      said(script),
      call('c1', 'exec_command', { cmd: 'ls' }),
      { type: 'function_call_output', call_id: 'c1', output: 'note.txt' },
      said('hurry up'),
    ]
    const whole = await (await ask(server, input, false)).json()
    expect(whole.output).toMatchObject([{ content: [{ text: 'all there' }] }])
    const [request] = server.requestsFor(({ session }) => session === 'thread-1')
    expect(seenIn(request)).toContain('note.txt')
    expect(seenIn(request)).toContain('hurry up')
    expect(request?.tools).toEqual(['exec_command', 'mcp__ballet__ask_question', 'web_search'])
  })

  it('begins anew with a message after an interrupt', async () => {
    const server = await start()
    const input = [
      said('@@[{"tool":"Bash"},{"text":"never"}]@@'),
      call('c1', 'exec_command', {}),
      { type: 'function_call_output', call_id: 'c1', output: 'aborted' },
      said('<turn_aborted>\nThe user interrupted.\n</turn_aborted>'),
      said('something else'),
    ]
    const whole = await (await ask(server, input, false)).json()
    expect(whole.output).toMatchObject([{ content: [{ text: 'ok: something else' }] }])
  })

  it.each([
    [401, 'invalid_api_key'],
    [429, 'rate_limit_exceeded'],
    [500, 'server_error'],
  ])('fails with %i as the API does', async (status, code) => {
    const server = await start()
    const response = await ask(server, [said(`@@[{"fail":[{"status":${status}}]}]@@`)])
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code } })
  })

  it('refuses what is no request', async () => {
    expect(readResponsesRequest({})).toContain('model')
    expect(readResponsesRequest({ model: 'm' })).toContain('input')
    const read = readResponsesRequest({
      model: 'm',
      input: [{ type: 'message', role: 'developer', content: 'RULES' }],
    })
    expect(typeof read === 'object' && wholeText(read.system)).toBe('RULES')
  })
})
