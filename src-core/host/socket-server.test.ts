import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { os } from '@orpc/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { Refusal } from '../../src-shared/refusal.ts'
import { type DataFolder, layOut } from './data-folder.ts'
import { type HostLock, takeHostLock } from './host-lock.ts'
import { placeSocket } from './socket-path.ts'
import { type SocketServer, serveSocket } from './socket-server.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const holder = { kind: 'headless', pid: 1, startedAt: '2026-11-29T12:00:00.000Z' } as const

const router = {
  host: { info: os.handler(() => 'information') },
  sessions: {
    send: os
      .errors({ REFUSED: { data: Refusal } })
      .handler(({ input }) => `sent ${JSON.stringify(input).length}`),
  },
}

let base: string
let folder: DataFolder
let lock: HostLock
let server: SocketServer | undefined
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'b-'))
  folder = layOut(base)
  lock = takeHostLock(folder, holder)
})
afterEach(async () => {
  await server?.close()
  server = undefined
  lock.release()
  rmSync(base, { recursive: true, force: true })
})

const serve = async () => {
  server = await serveSocket(router, folder, lock, silent)
  return server.path
}

type Reply = { i: string; p: { s?: number; b: { json: unknown } } }

/** One call over oRPC's own messages, without its client. */
function open(path: string) {
  const socket = new WebSocket('ws://localhost/', { createConnection: () => connect(path) })
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  let calls = 0
  return {
    opened,
    closed: new Promise<number>((resolve) => socket.once('close', resolve)),
    sendRaw: (text: string) => socket.send(text),
    close: () => socket.terminate(),
    call: async (name: string, input?: unknown): Promise<Reply['p']> => {
      await opened
      calls += 1
      const id = String(calls)
      const answer = new Promise<Reply['p']>((resolve) => {
        socket.on('message', (data) => {
          const reply = JSON.parse(String(data)) as Reply
          if (reply.i === id) resolve(reply.p)
        })
      })
      socket.send(JSON.stringify({ i: id, p: { u: `/${name}`, b: { json: input } } }))
      return answer
    },
  }
}

describe('the socket of a host', () => {
  it('serves the calls, for the user alone', async () => {
    const path = await serve()
    expect(path).toBe(join(base, 'ballet.sock'))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(process.umask()).not.toBe(0o177)
    const client = open(path)
    expect((await client.call('host/info')).b.json).toBe('information')
    const large = 'ä'.repeat(2_000_000)
    expect((await client.call('sessions/send', large)).b.json).toBe('sent 2000002')
    client.close()
  })

  it('ends a client that sends no call or too much, and serves the others', async () => {
    const path = await serve()
    for (const [text, code] of [
      ['nonsense {', 1008],
      ['{"i":"1"}', 1008],
      ['x'.repeat(37 * 1024 * 1024), 1009],
    ] as const) {
      const client = open(path)
      expect((await client.call('nobody/knows')).s).toBe(404)
      client.sendRaw(text)
      expect(await client.closed).toBe(code)
    }
    const other = open(path)
    expect((await other.call('host/info')).b.json).toBe('information')
    other.close()
  })

  it('says that it speaks something else to a plain request', async () => {
    const path = await serve()
    const answer = await new Promise<string>((resolve, reject) => {
      let text = ''
      connect(path, function (this: NodeJS.WritableStream) {
        this.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
      })
        .on('data', (chunk) => {
          text += String(chunk)
        })
        .on('close', () => resolve(text))
        .on('error', reject)
    })
    expect(answer).toContain('426')
  })

  it('takes the place of a socket that a killed host left', async () => {
    const stale = spawnSync(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(folder.socket)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ])
    expect(stale.signal).toBe('SIGKILL')
    expect(existsSync(folder.socket)).toBe(true)
    const client = open(await serve())
    expect((await client.call('host/info')).b.json).toBe('information')
    client.close()
  })

  it('is gone after the close, and so are its clients', async () => {
    const path = await serve()
    const client = open(path)
    await client.opened
    await server?.close()
    await client.closed
    expect(existsSync(path)).toBe(false)
  })

  it('says why there is none', async () => {
    mkdirSync(folder.socket)
    await expect(serve()).rejects.toMatchObject({
      code: 'host.socket-failed',
      message: expect.stringContaining(folder.socket),
    })
  })

  // Who calls is known where the system has `ss`.
  const canTell =
    process.platform === 'linux' && spawnSync('ss', ['-x', '-H'], { timeout: 5_000 }).status === 0

  it.runIf(canTell)('lets a program that a session started look, not steer', async () => {
    const path = await serve()
    const ws = createRequire(import.meta.url).resolve('ws')
    const call = (env: NodeJS.ProcessEnv, isChildWithout = false) => {
      const talk = `
        const { WebSocket } = require(${JSON.stringify(ws)})
        const socket = new WebSocket('ws://localhost/', {
          createConnection: () => require('net').connect(${JSON.stringify(path)}),
        })
        let count = 0
        socket.on('message', (data) => {
          console.log(String(data))
          count += 1
          if (count === 2) process.exit(0)
        })
        socket.on('open', () => {
          socket.send('{"i":"1","p":{"u":"/host/info"}}')
          socket.send('{"i":"2","p":{"u":"/sessions/send","b":{"json":"x"}}}')
        })`
      const program = isChildWithout
        ? `const options = { env: { PATH: process.env.PATH }, stdio: 'inherit' }
          require('child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(talk)}], options)`
        : talk
      const child = spawn(process.execPath, ['-e', program], {
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: 15_000,
      })
      return new Promise<Reply[]>((resolve, reject) => {
        let text = ''
        child.stdout.on('data', (chunk) => {
          text += String(chunk)
        })
        child.once('error', reject)
        child.once('close', () =>
          resolve(
            text
              .trim()
              .split('\n')
              .map((line) => JSON.parse(line) as Reply)
              .sort((a, b) => a.i.localeCompare(b.i)),
          ),
        )
      })
    }
    const [look, steer] = await call({ BALLET_SESSION: '0:1' })
    expect(look?.p.b.json).toBe('information')
    expect(steer?.p.b.json).toMatchObject({
      code: 'REFUSED',
      defined: true,
      data: { code: 'caller.session' },
    })
    const [, child] = await call({ BALLET_SESSION: '0:1' }, true)
    expect(child?.p.b.json).toMatchObject({ data: { code: 'caller.session' } })
    const own = await call({})
    expect(own[1]?.p.b.json).toMatch(/^sent \d$/)
    const ownChild = await call({}, true)
    expect(ownChild[1]?.p.b.json).toMatch(/^sent \d$/)
  })
})

describe('the place of the socket', () => {
  it('is elsewhere, and named, where the path is too long', async () => {
    const long = layOut(join(base, 'x'.repeat(90)))
    mkdirSync(long.dataDir, { recursive: true })
    const run = join(base, 'run')
    const path = await placeSocket(long, { env: { XDG_RUNTIME_DIR: run }, platform: 'linux' })
    expect(path.startsWith(join(run, 'ballet-'))).toBe(true)
    expect(readFileSync(long.socketPath, 'utf8').trim()).toBe(path)
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
    // The same folder has the same place; another folder has another one.
    expect(await placeSocket(long, { env: { XDG_RUNTIME_DIR: run }, platform: 'linux' })).toBe(path)
    const other = layOut(join(base, 'y'.repeat(90)))
    mkdirSync(other.dataDir)
    expect(await placeSocket(other, { env: { XDG_RUNTIME_DIR: run }, platform: 'linux' })).not.toBe(
      path,
    )
  })

  it('serves there', async () => {
    folder = layOut(join(base, 'z'.repeat(90)))
    mkdirSync(folder.dataDir)
    const path = await serve()
    expect(readFileSync(folder.socketPath, 'utf8').trim()).toBe(path)
    const client = open(path)
    expect((await client.call('host/info')).b.json).toBe('information')
    client.close()
    await server?.close()
    expect(existsSync(folder.socketPath)).toBe(false)
  })
})
