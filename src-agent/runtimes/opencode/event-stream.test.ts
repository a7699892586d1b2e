import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { OpencodeClient } from './client.ts'
import { EventStream } from './event-stream.ts'

const servers: ReturnType<typeof createServer>[] = []

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A server that treats its requests in turn: tells one event and cuts, goes on, or never answers. */
async function serving(...each: readonly ('cut' | 'stays' | 'silent')[]): Promise<OpencodeClient> {
  let asked = 0
  const server = createServer((_, response) => {
    const how = each[asked] ?? 'silent'
    asked += 1
    if (how === 'silent') return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"type":"server.connected","properties":{}}\n\n')
    if (how === 'cut') setTimeout(() => response.destroy(), 50)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return new OpencodeClient({ url: `http://127.0.0.1:${port}`, password: 'x' })
}

const quiet = { onEvent: () => undefined, onOversized: () => undefined }

it('gives up a stream that does not begin, the first one and one after a cut, and asks again', async () => {
  const client = await serving('cut', 'silent', 'stays')
  const events = await new Promise<string>((resolve, reject) => {
    const stream = new EventStream(
      client,
      {
        ...quiet,
        onAgain: async () => {
          stream.close()
          resolve('again')
        },
        onLost: (why) => reject(new Error(why)),
      },
      1_000,
    )
    stream.open().catch(reject)
  })
  expect(events).toBe('again')
  const silent = await serving('silent')
  const lost = { ...quiet, onAgain: async () => undefined, onLost: () => undefined }
  await expect(new EventStream(silent, lost, 1_000).open()).rejects.toThrow('no events within 1 s')
})
