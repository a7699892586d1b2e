import { connect as connectSocket } from 'node:net'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/websocket'
import type { ContractRouterClient } from '@orpc/contract'
import { WebSocket } from 'ws'
import { CONTRACT_VERSION, type Contract } from '../src-shared/contract.ts'
import { BalletError } from '../src-shared/refusal.ts'
import { socketPath } from './data-folder.ts'

export type Client = ContractRouterClient<Contract>

export type Connection = {
  client: Client
  /** False once the host went away. */
  isOpen(): boolean
  close(): void
}

export const CONNECT_LIMIT_MS = 5_000

/** Connects to whichever host runs on the data folder and checks that both speak the same contract. */
export async function connectToHost(dataDir: string): Promise<Connection> {
  const socket = await open(dataDir)
  const client: Client = createORPCClient(
    new RPCLink({ websocket: socket as unknown as globalThis.WebSocket }),
  )
  const connection: Connection = {
    client,
    isOpen: () => socket.readyState === WebSocket.OPEN,
    close: () => socket.close(),
  }
  try {
    const info = await client.host.info(undefined, {
      signal: AbortSignal.timeout(CONNECT_LIMIT_MS),
    })
    if (info.contract !== CONTRACT_VERSION) {
      throw new BalletError({
        code: 'host.other-version',
        message: `The host on ${dataDir} is Ballet ${info.version} (contract ${info.contract}); this command line speaks contract ${CONTRACT_VERSION}.`,
        hint: 'Use the `ballet` of the same installation, or restart the application after its update.',
      })
    }
    return connection
  } catch (error) {
    socket.terminate()
    if (error instanceof Error && error.name === 'TimeoutError') throw silent(dataDir, error)
    throw error
  }
}

async function open(dataDir: string): Promise<WebSocket> {
  const path = await socketPath(dataDir)
  return new Promise((resolve, reject) => {
    const socket = new WebSocket('ws://localhost/', {
      createConnection: () => connectSocket(path),
      handshakeTimeout: CONNECT_LIMIT_MS,
      perMessageDeflate: false,
    })
    socket.once('open', () => {
      socket.off('error', fail)
      // What breaks later shows as a closed connection, which every call sees.
      socket.on('error', () => undefined)
      resolve(socket)
    })
    const fail = (error: Error) => reject(whyNot(dataDir, path, error))
    socket.once('error', fail)
  })
}

function whyNot(dataDir: string, path: string, error: Error): BalletError {
  const code = 'code' in error ? error.code : undefined
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') {
    return notRunning(dataDir, error)
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new BalletError(
      {
        code: 'host.denied',
        message: `The socket ${path} may not be opened: it belongs to another user.`,
        hint: 'Run the command as the user who runs the host.',
      },
      { cause: error },
    )
  }
  if (error.message.includes('handshake has timed out')) return silent(dataDir, error)
  return new BalletError(
    {
      code: 'host.unreachable',
      message: `The host on ${dataDir} could not be reached: ${error.message}`,
      hint: `Restart the application, or stop the host and run \`ballet serve --data ${quoted(dataDir)}\`.`,
    },
    { cause: error },
  )
}

export function notRunning(dataDir: string, cause?: unknown): BalletError {
  return new BalletError(
    {
      code: 'host.not-running',
      message: `No Ballet runs on ${dataDir}.`,
      hint: `Start the application, or run \`ballet serve --data ${quoted(dataDir)}\`; \`--data\` and BALLET_DATA name another folder.`,
    },
    { cause },
  )
}

function silent(dataDir: string, cause: unknown): BalletError {
  return new BalletError(
    {
      code: 'host.silent',
      message: `The host on ${dataDir} did not answer within ${CONNECT_LIMIT_MS / 1_000} s.`,
      hint: 'Try again; if it stays silent, restart it: its sessions go on afterwards.',
    },
    { cause },
  )
}

function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
