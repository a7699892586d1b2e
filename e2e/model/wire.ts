import type { IncomingMessage, ServerResponse } from 'node:http'
import { countTokens } from './answer.ts'
import { readMessagesRequest } from './messages.ts'
import { messagesError as errorBody } from './wires.ts'

const MAX_BODY_BYTES = 64 * 1024 * 1024
export type RequestBody =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'none' }
  | { readonly kind: 'too-large' }

export async function readBody(request: IncomingMessage): Promise<RequestBody> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes <= MAX_BODY_BYTES) parts.push(part)
  }
  if (bytes > MAX_BODY_BYTES) return { kind: 'too-large' }
  try {
    return { kind: 'json', value: JSON.parse(Buffer.concat(parts).toString('utf8')) }
  } catch {
    return { kind: 'none' }
  }
}

interface SideAnswer {
  readonly status: number
  readonly body: unknown
}

export function sideAnswer(method: string, path: string, body: RequestBody): SideAnswer {
  if (path === '/' && (method === 'HEAD' || method === 'GET')) return { status: 200, body: {} }
  if (method === 'POST' && path === '/v1/messages/count_tokens') {
    const valid = body.kind === 'json' ? readMessagesRequest(body.value) : 'The body is not JSON.'
    if (typeof valid === 'string')
      return { status: 400, body: errorBody('invalid_request_error', valid) }
    return { status: 200, body: { input_tokens: countTokens(valid) } }
  }
  if (method === 'GET' && path === '/v1/models') {
    const data = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'].map((id) => ({
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-01T00:00:00Z',
    }))
    const ends = { first_id: data[0]?.id, last_id: data.at(-1)?.id }
    return { status: 200, body: { data, has_more: false, ...ends } }
  }
  return { status: 404, body: errorBody('not_found_error', 'Not found') }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
