import type { IncomingHttpHeaders } from 'node:http'
import { type Answer, type StreamEvent, streamEvents, wholeMessage } from './answer.ts'
import { isRecord, type MessagesRequest, readMessagesRequest } from './messages.ts'
import { readResponsesRequest, responseEvents, wholeResponse } from './responses.ts'

/** One of the APIs that the scripted model speaks. Requests and answers are in the terms of the Messages API inside. */
export interface Wire {
  /** Reads a request body; the text of the refusal when it is none. */
  readonly read: (body: unknown) => MessagesRequest | string
  /** The runtime's own conversation id, where the request says it; `body` is undefined when it is not JSON. */
  readonly sessionOf: (headers: IncomingHttpHeaders, body: unknown) => string | undefined
  readonly events: (answer: Answer, chunks: number | undefined) => Iterable<StreamEvent>
  readonly whole: (answer: Answer) => Record<string, unknown>
  readonly error: (status: number, failure: ErrorFacts) => Record<string, unknown>
}

export interface ErrorFacts {
  /** By default the one that belongs to the status. */
  readonly type?: string | undefined
  readonly message?: string | undefined
}

const MESSAGES_ERRORS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}

const RESPONSES_ERRORS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'invalid_api_key',
  403: 'permission_denied',
  404: 'model_not_found',
  429: 'rate_limit_exceeded',
  500: 'server_error',
  503: 'server_is_overloaded',
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

const messagesWire: Wire = {
  read: readMessagesRequest,
  sessionOf: (headers, body) => {
    const header = headers['x-claude-code-session-id']
    if (typeof header === 'string') return header
    const metadata = isRecord(body) ? body.metadata : undefined
    const user = isRecord(metadata) ? metadata.user_id : undefined
    if (typeof user !== 'string') return undefined
    return /"session_id":"([^"]+)"|session_([0-9a-f-]{36})/u.exec(user)?.slice(1).find(Boolean)
  },
  events: streamEvents,
  whole: wholeMessage,
  error: (status, { type, message }) =>
    messagesError(
      type ?? MESSAGES_ERRORS[status] ?? 'api_error',
      message ?? ERROR_MESSAGES[status] ?? 'Scripted error',
    ),
}

const responsesWire: Wire = {
  read: readResponsesRequest,
  sessionOf: (headers, body) => {
    const header = headers['thread-id'] ?? headers['session-id']
    if (typeof header === 'string') return header
    const key = isRecord(body) ? body.prompt_cache_key : undefined
    return typeof key === 'string' ? key : undefined
  },
  events: responseEvents,
  whole: wholeResponse,
  error: (status, { type, message }) => {
    const code = type ?? RESPONSES_ERRORS[status] ?? 'server_error'
    return {
      error: { message: message ?? ERROR_MESSAGES[status] ?? 'Scripted error', type: code, code },
    }
  },
}

/** By the path of their requests. */
export const WIRES: Readonly<Record<string, Wire>> = {
  '/v1/messages': messagesWire,
  '/v1/responses': responsesWire,
}

export function messagesError(type: string, message: string): Record<string, unknown> {
  return { type: 'error', error: { type, message } }
}
