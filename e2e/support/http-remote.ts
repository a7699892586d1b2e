import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname } from 'node:path'
import type { GitRemote } from './git-remote.ts'

/** A bare repository over HTTP, that wants a name and a password. */
export type HttpRemote = {
  /** With both in it. */
  readonly url: string
  /** From now on they are refused. */
  refuseLogins(): void
  acceptLogins(): void
  close(): void
}

const LOGIN = 'person:hidden-word'

/** Serves what git's own program for that answers. */
export async function serveOverHttp(remote: GitRemote): Promise<HttpRemote> {
  let accepts = true
  const expected = `Basic ${Buffer.from(LOGIN).toString('base64')}`
  const server = createServer((request, response) => {
    if (accepts && request.headers.authorization === expected) {
      answer(remote.path, request, response)
      return
    }
    response.writeHead(401, { 'www-authenticate': 'Basic realm="shop"' })
    response.end('no')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${LOGIN}@127.0.0.1:${port}/${basename(remote.path)}`,
    refuseLogins: () => {
      accepts = false
    },
    acceptLogins: () => {
      accepts = true
    },
    close: () => server.close(),
  }
}

function answer(path: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost')
  const backend = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: dirname(path),
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'person',
    },
  })
  request.pipe(backend.stdin)
  const pieces: Buffer[] = []
  backend.stdout.on('data', (piece: Buffer) => pieces.push(piece))
  backend.once('error', () => response.writeHead(500).end())
  backend.once('close', () => {
    const whole = Buffer.concat(pieces)
    const end = whole.indexOf('\r\n\r\n')
    for (const line of whole.subarray(0, end).toString('latin1').split('\r\n')) {
      const [name = '', value = ''] = line.split(/:\s*/u, 2)
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.end(whole.subarray(end + 4))
  })
}
