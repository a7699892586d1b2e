import type { IncomingMessage, ServerResponse } from 'node:http'
import { countTokens } from './answer.ts'
import { isRecord, readMessagesRequest } from './messages.ts'
import type { Failure } from './script.ts'

const MAX_BODY_BYTES = 64 * 1024 * 1024
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}

const ERROR_MESSAGES: Readonly<Record<number, string>> = {
  401: 'invalid x-api-key',
  403: 'Your API key does not have permission to use the specified resource.',
  404: 'model: not found',
  413: 'Request exceeds the maximum allowed number of bytes.',
  429: 'This request would exceed your rate limit.',
  500: 'Internal server error',
  529: 'Overloaded',
}

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

export function sessionOf(
  request: IncomingMessage,
  body: RequestBody | undefined,
): string | undefined {
  const header = request.headers['x-claude-code-session-id']
  if (typeof header === 'string') return header
  if (body?.kind !== 'json' || !isRecord(body.value)) return undefined
  const metadata = body.value.metadata
  const user = isRecord(metadata) ? metadata.user_id : undefined
  if (typeof user !== 'string') return undefined
  return /"session_id":"([^"]+)"|session_([0-9a-f-]{36})/u.exec(user)?.slice(1).find(Boolean)
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

export function errorBody(type: string, message: string): Record<string, unknown> {
  return { type: 'error', error: { type, message } }
}

export function sendError(
  response: ServerResponse,
  status: number,
  failure: Partial<Omit<Failure, 'status'>> = {},
): void {
  const type = failure.type ?? ERROR_TYPES[status] ?? 'api_error'
  const message = failure.message ?? ERROR_MESSAGES[status] ?? 'Scripted error'
  sendJson(response, status, errorBody(type, message), {
    'x-should-retry': String(status === 408 || status === 409 || status === 429 || status >= 500),
    ...failure.headers,
  })
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
