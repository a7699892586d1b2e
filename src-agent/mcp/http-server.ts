import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MCP_SERVER_NAME } from '../../src-shared/mcp-tools.ts'
import type { McpServerAddress } from '../runtimes/driver.ts'
import type { CallTool } from './protocol.ts'

export type McpServer = McpServerAddress & { close(): Promise<void> }

const PATH = '/mcp'
/** More than every limit of the tools together. */
const BODY_LIMIT_BYTES = 1024 * 1024
const BODY_LIMIT_MS = 10_000
const LOOK_EVERY_MS = 2_000
const READ_AFTER_MS = 50

/**
 * Opens a server of Ballet's tools on the loopback interface, for whoever has the token. Rejects with the system's
 * error when it cannot listen.
 */
export async function openMcpServer(callTool: CallTool): Promise<McpServer> {
  const token = randomBytes(32).toString('base64url')
  const server = createServer({
    requestTimeout: BODY_LIMIT_MS,
    connectionsCheckingInterval: LOOK_EVERY_MS,
    // A runtime keeps its connections, and may send its next call at the very moment at which an idle one is closed.
    keepAliveTimeout: 0,
  })
  await listen(server)
  const { port } = server.address() as AddressInfo
  const hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`])
  const protocol = readLater()
  server.on('request', (request, response) => {
    const refusal = refusalOf(request, hosts, token)
    if (refusal !== null) {
      refuse(response, ...refusal)
      return
    }
    answer(request, response, protocol, callTool).catch((error: unknown) => {
      refuse(response, 500, `Ballet could not answer: ${String(error)}`)
    })
  })
  return {
    name: MCP_SERVER_NAME,
    url: `http://127.0.0.1:${port}${PATH}`,
    token,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type ReadProtocol = () => Promise<typeof import('./protocol.ts')>

/** The library takes a moment to read: it is read while the runtime comes up, and not before that is on its way. */
function readLater(): ReadProtocol {
  let reading: ReturnType<ReadProtocol> | undefined
  const read = () => {
    reading ??= import('./protocol.ts')
    return reading
  }
  // What cannot be read is told to whoever asks.
  setTimeout(() => read().catch(() => undefined), READ_AFTER_MS).unref()
  return read
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Why a request is not looked at: a web page, or a program that does not know the token. */
function refusalOf(
  { headers, method, url }: IncomingMessage,
  hosts: ReadonlySet<string>,
  token: string,
): [status: number, message: string] | null {
  if (!hosts.has(headers.host ?? '')) return [403, 'This server does not serve that host.']
  if (headers.origin !== undefined) return [403, 'This server does not serve web pages.']
  if (!isSame(headers.authorization ?? '', `Bearer ${token}`)) return [401, 'The token is wrong.']
  if (url !== PATH) return [404, `There is only ${PATH}.`]
  if (method !== 'POST') return [405, 'Only POST is served.']
  return null
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  protocol: ReadProtocol,
  callTool: CallTool,
): Promise<void> {
  const body = await readBody(request)
  const { answerMessages } = await protocol()
  if (body === 'too-long') {
    refuse(response, 413, `A call may have ${BODY_LIMIT_BYTES} bytes at most. Shorten it.`)
    return
  }
  let message: unknown
  try {
    message = JSON.parse(body)
  } catch {
    refuse(response, 400, 'The body is not JSON.', -32_700)
    return
  }
  const answers = await answerMessages(message, callTool)
  if (answers === null) response.writeHead(202).end()
  else sendJson(response, 200, answers)
}

async function readBody(request: IncomingMessage): Promise<string | 'too-long'> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Read to its end all the same: a client that is cut off while it sends never sees why.
    if (bytes <= BODY_LIMIT_BYTES) chunks.push(chunk)
  }
  return bytes > BODY_LIMIT_BYTES ? 'too-long' : Buffer.concat(chunks).toString('utf8')
}

function refuse(response: ServerResponse, status: number, message: string, code = -32_000): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (status === 405) response.setHeader('allow', 'POST')
  // What was not read of a body must not be taken for the next request. The connection of a GET for a stream, which every
  // client tries, stays: opencode was seen to send its next call on the very one that was just closed on it.
  if (status !== 405 || hasBody(response.req)) response.setHeader('connection', 'close')
  sendJson(response, status, { jsonrpc: '2.0', error: { code, message }, id: null })
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
