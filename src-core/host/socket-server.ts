import { chmod, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type AnyRouter, ORPCError } from '@orpc/server'
import { RPCHandler } from '@orpc/server/websocket'
import { type WebSocket, WebSocketServer } from 'ws'
import { BalletError, type Refusal } from '../../src-shared/refusal.ts'
import type { Log } from '../ports.ts'
import { isCalledFromSession } from './caller.ts'
import type { DataFolder } from './data-folder.ts'
import type { HostLock } from './host-lock.ts'
import { placeSocket } from './socket-path.ts'

/** The largest message that a client may send; a text of 2,000,000 characters with 20 MB of images fits. */
const MESSAGE_LIMIT_BYTES = 36 * 1024 * 1024
const CONNECTION_LIMIT = 200
const CLOSE_LIMIT_MS = 2_000

/** Why a connection is closed, in the numbers of WebSocket. */
const NOT_UNDERSTOOD = 1008

/** What a program that a session started may still ask: nothing of it changes anything. */
const READING =
  /^(host\.(info|doctor)|[a-z]+\.(list|show)|sessions\.inputs|timeline\.[a-z]+|records\.follow)$/

const FROM_SESSION: Refusal = {
  code: 'caller.session',
  message: 'This was started by a session of Ballet, and sessions may only look, not steer.',
  hint: 'Run it from a terminal of your own.',
}

export type SocketServer = {
  /** Where clients connect. */
  path: string
  /** Ends every connection and removes the socket. */
  close(): Promise<void>
}

type Context = { fromSession: boolean }

/**
 * Serves the contract over WebSocket on the data folder's socket, for this user alone. Only who holds the folder's
 * lock may: a socket that is found there is then of a host that is gone.
 * Rejects with `BalletError`, code `host.socket-path` or `host.socket-failed`.
 */
export async function serveSocket(
  router: AnyRouter,
  folder: DataFolder,
  _lock: HostLock,
  log: Log,
): Promise<SocketServer> {
  const path = await placeSocket(folder)
  const handler = new RPCHandler<Context>(router, {
    clientInterceptors: [
      ({ context, path: name, next }) => {
        if (context.fromSession && !READING.test(name.join('.'))) {
          throw new ORPCError('REFUSED', {
            defined: true,
            message: FROM_SESSION.message,
            data: FROM_SESSION,
          })
        }
        return next()
      },
    ],
  })
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MESSAGE_LIMIT_BYTES,
    perMessageDeflate: false,
  })
  const server = createServer((_request, response) => {
    response.writeHead(426, { connection: 'close', 'content-type': 'text/plain' })
    response.end('Ballet speaks WebSocket here.\n')
  })
  server.maxConnections = CONNECTION_LIMIT
  server.on('upgrade', (request, stream, head) => {
    admit(request, stream, head).catch((error: unknown) => {
      log.warn('a client could not be admitted', { error })
      stream.destroy()
    })
  })

  async function admit(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    stream.on('error', (error) => log.debug('a client went away', { error }))
    const fromSession = stream instanceof Socket && (await isCalledFromSession(stream)) === true
    if (fromSession) log.warn('a program of a session connected: it may only look')
    if (stream.destroyed) return
    sockets.handleUpgrade(request, stream, head, (client) => attend(client, { fromSession }))
  }

  function attend(client: WebSocket, context: Context): void {
    client.binaryType = 'arraybuffer'
    // To the handler it is what a browser calls so.
    const peer = client as unknown as Parameters<typeof handler.message>[0]
    client.on('error', (error) => log.warn('a client sent too much or no WebSocket', { error }))
    client.on('close', () => handler.close(peer))
    client.on('message', (data, isBinary) => {
      const message = isBinary ? (data as ArrayBuffer) : String(data)
      handler.message(peer, message, { context }).catch((error: unknown) => {
        log.warn('a client sent what is no call', { error })
        client.close(NOT_UNDERSTOOD, 'not a call of the contract')
      })
    })
  }

  try {
    if (process.platform !== 'win32') await rm(path, { force: true })
    await listen(server, path)
  } catch (error) {
    throw new BalletError(
      {
        code: 'host.socket-failed',
        message: `The socket ${path} cannot be opened: ${error instanceof Error ? error.message : String(error)}.`,
        hint: 'The command line needs it. Check that the folder is on a disk that can hold sockets, or use another data folder.',
      },
      { cause: error },
    )
  }
  return {
    path,
    close: async () => {
      for (const client of sockets.clients) client.terminate()
      sockets.close()
      await closeServer(server)
      await rm(folder.socketPath, { force: true })
    },
  }
}

async function listen(server: Server, path: string): Promise<void> {
  // The system makes the socket with this mask, so that it is never open to others, not even for a moment.
  const before = process.platform === 'win32' ? undefined : process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, () => {
        server.off('error', reject)
        resolve()
      })
      // It is made by now; the rest of the process keeps its own mask.
      if (before !== undefined) process.umask(before)
    })
  } catch (error) {
    if (before !== undefined) process.umask(before)
    throw error
  }
  if (process.platform !== 'win32') await chmod(path, 0o600)
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CLOSE_LIMIT_MS)
    server.close(() => {
      clearTimeout(timer)
      resolve()
    })
    server.closeAllConnections()
  })
}
