import { access } from 'node:fs/promises'

/** Events that come in two halves; then all is as usual, for the test's time. */
const HALVED_EVENTS = 40
/** Part of the event in whose middle the connection is cut: that a call is over is told in no other event. */
const CUT_IN = '"status":"completed"'

/**
 * A program in place of one that serves a session over HTTP (`serve --port N`): it starts the real one on another port
 * and hands everything on, but events (`GET /event`) come in halves, with one that is no JSON and one of an unknown type
 * among the first ones of a message. In the middle of the one that tells the first result of a tool the connection ends.
 */
export function garbledServer(program: string): string {
  return `#!${process.execPath}
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { createServer as createProbe } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
const args = process.argv.slice(2)
const at = args.indexOf('--port') + 1
const isServer = args[0] === 'serve' && at > 0
const port = Number(args[at])
const real = isServer ? await freePort() : 0
if (isServer) args[at] = String(real)
const child = spawn(${JSON.stringify(program)}, args, {
  stdio: ['inherit', isServer ? 'pipe' : 'inherit', 'inherit'],
})
child.once('exit', (code) => process.exit(code ?? 128))
if (isServer) {
  createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', (line) => {
    if (!line.includes(':' + real)) console.log(line)
    else listen(line.replace(':' + real, ':' + port))
  })
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createProbe()
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}

function listen(ready) {
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const asked = request({ host: '127.0.0.1', port: real, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers)
      answer.on('error', () => outgoing.destroy())
      if (url.split('?')[0] === '/event') tell(answer, outgoing).catch(() => outgoing.destroy())
      else answer.pipe(outgoing)
    })
    asked.on('error', () => outgoing.destroy())
    outgoing.on('close', () => asked.destroy())
    incoming.pipe(asked)
  })
  server.on('error', (error) => {
    console.error('Failed to start server: ' + error.code)
    child.kill('SIGKILL')
  })
  server.listen(port, '127.0.0.1', () => console.log(ready))
}

let events = 0
let ofMessages = 0
let wasCut = false
async function tell(answer, outgoing) {
  outgoing.flushHeaders()
  let rest = ''
  for await (const text of answer.setEncoding('utf8')) {
    const found = (rest + text).split('\\n\\n')
    rest = found.pop()
    for (const event of found) {
      events += 1
      if (event.includes('"type":"message.')) {
        ofMessages += 1
        if (ofMessages === 2) outgoing.write('data: garbage { that is no JSON\\n\\n')
        if (ofMessages === 4) outgoing.write('data: {"type":"brand_new","properties":{}}\\n\\n')
      }
      const half = events > ${HALVED_EVENTS} ? 0 : Math.floor(event.length / 2)
      outgoing.write(event.slice(0, half))
      if (half > 0) await sleep(3)
      if (event.includes('${CUT_IN}') && !wasCut) {
        wasCut = true
        writeFileSync(process.argv[1] + '.cut', '')
        outgoing.socket.destroy()
        return
      }
      outgoing.write(event.slice(half) + '\\n\\n')
    }
  }
  outgoing.end()
}
`
}

/** Whether the program, which was written to this file, has cut the connection. */
export function wasCut(file: string): Promise<boolean> {
  return access(`${file}.cut`).then(
    () => true,
    () => false,
  )
}
