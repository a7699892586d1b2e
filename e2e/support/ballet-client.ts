import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/websocket'
import type { ContractRouterClient } from '@orpc/contract'
import { WebSocket } from 'ws'
import type { Contract } from '../../src-shared/contract.ts'

/** Every call of the contract, typed. A refusal is thrown as an error whose `data` is the refusal. */
export type BalletClient = ContractRouterClient<Contract>

export type BalletConnection = {
  readonly client: BalletClient
  close(): void
}

/** Connects to the host that runs on a data folder, over its socket, as any client would. */
export async function connectTo(dataDir: string): Promise<BalletConnection> {
  const path = await socketOf(dataDir)
  const socket = new WebSocket('ws://localhost/', {
    createConnection: () => connect(path),
    handshakeTimeout: 5_000,
    perMessageDeflate: false,
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  // A host that is killed breaks the connection; the open calls reject by themselves.
  socket.on('error', () => undefined)
  const link = new RPCLink({ websocket: socket as unknown as globalThis.WebSocket })
  return { client: createORPCClient(link), close: () => socket.terminate() }
}

async function socketOf(dataDir: string): Promise<string> {
  const elsewhere = await readFile(join(dataDir, 'socket.path'), 'utf8').catch(() => '')
  return elsewhere.trim() || join(dataDir, 'ballet.sock')
}
