import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/ws'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { CONTRACT_VERSION, contract, type HostInfo } from '../src-shared/contract.ts'
import { connectToHost } from './connection.ts'
import { dataFolder } from './data-folder.ts'

let folder: string
let server: Server | undefined
const clients = new Set<WebSocket>()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-cli-'))
})
afterEach(async () => {
  for (const client of clients) client.terminate()
  clients.clear()
  server?.close()
  server = undefined
  await rm(folder, { recursive: true, force: true })
})

const info: HostInfo = {
  contract: CONTRACT_VERSION,
  version: '9.9.9',
  kind: 'headless',
  dataDir: '/d',
  pid: 1,
  agents: 1,
  runtimes: [],
  startedAt: 'now',
}

/** A host that only tells what it is. */
async function serve(path: string, answer: HostInfo = info): Promise<void> {
  const os = implement(contract.host)
  const handler = new RPCHandler({ host: { info: os.info.handler(() => answer) } })
  server = createServer()
  new WebSocketServer({ server }).on('connection', (socket) => {
    clients.add(socket)
    void handler.upgrade(socket)
  })
  await new Promise<void>((resolve) => server?.listen(path, resolve))
}

describe('connectToHost', () => {
  it('speaks the contract over the socket of the data folder', async () => {
    await serve(join(folder, 'ballet.sock'))
    const connection = await connectToHost(folder)
    expect(await connection.client.host.info()).toEqual(info)
    expect(connection.isOpen()).toBe(true)
    connection.close()
  })

  it('finds a socket that lies elsewhere', async () => {
    await serve(join(folder, 'other.sock'))
    await writeFile(join(folder, 'socket.path'), `${join(folder, 'other.sock')}\n`)
    const connection = await connectToHost(folder)
    connection.close()
  })

  it('is closed when the host goes away, and what was asked is told so', async () => {
    await serve(join(folder, 'ballet.sock'))
    const connection = await connectToHost(folder)
    for (const client of clients) client.terminate()
    await expect(connection.client.host.info()).rejects.toThrow()
    expect(connection.isOpen()).toBe(false)
  })

  it.each([
    ['no folder', async () => undefined],
    [
      'a socket that nobody listens to',
      async () => {
        await serve(join(folder, 'ballet.sock'))
        // A killed host leaves its socket; a file stands for it here.
        server?.close()
        await writeFile(join(folder, 'ballet.sock'), '')
      },
    ],
  ])('says that no host runs: %s', async (_, prepare) => {
    await prepare()
    await expect(connectToHost(folder)).rejects.toMatchObject({ code: 'host.not-running' })
  })

  it('refuses a host of another contract', async () => {
    await serve(join(folder, 'ballet.sock'), { ...info, contract: 99 })
    await expect(connectToHost(folder)).rejects.toMatchObject({ code: 'host.other-version' })
  })
})

describe('dataFolder', () => {
  const place = { env: {}, home: '/home/p', cwd: '/w', platform: 'linux' as NodeJS.Platform }

  it.each([
    ['linux', {}, '/home/p/.config/ballet'],
    ['linux', { XDG_CONFIG_HOME: '/x' }, '/x/ballet'],
    ['darwin', {}, '/home/p/Library/Application Support/ballet'],
  ] as const)('is the application’s own on %s', (platform, env, folderName) => {
    expect(dataFolder(undefined, { ...place, platform, env })).toBe(folderName)
  })

  it('is what was named', () => {
    expect(dataFolder('d', place)).toBe('/w/d')
    expect(dataFolder(undefined, { ...place, env: { BALLET_DATA: '/e' } })).toBe('/e')
    expect(dataFolder('/o', { ...place, env: { BALLET_DATA: '/e' } })).toBe('/o')
  })
})
