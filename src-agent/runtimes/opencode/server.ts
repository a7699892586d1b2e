import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { BalletError } from '../../../src-shared/refusal.ts'
import { endTree, type Marker } from '../../process-tree/index.ts'
import { cannotStart, endedInStart } from '../failures.ts'
import { describeExit, LineProcess } from '../line-process.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { OpencodeClient } from './client.ts'
import { launchEnvironment, type OwnConfig, writeConfig } from './launch.ts'

/** A cold start on a busy machine. */
const READY_LIMIT_MS = 60_000
const PORT_ATTEMPTS = 4
const OUTPUT_KEPT = 4_096

export type ServerOptions = {
  executable: string
  cwd: string
  env: Readonly<Record<string, string>>
  args?: readonly string[]
  marker: Marker
  mask: SecretMask
  scratchDir: string
  config: OwnConfig
  readyLimitMs?: number
  /** Gives a port of the loopback interface that is free; another may take it before the server does. */
  freePort?: () => Promise<number>
}

/** A running `opencode serve`. */
export type OpencodeServer = {
  process: LineProcess
  client: OpencodeClient
  /** How it ended, in words; empty while it runs. */
  describeEnd(): Promise<string>
  /** For a server that ended before its session was there. */
  endedInStart(): Promise<BalletError>
}

/** Starts a server with a password of its own. Rejects with `BalletError`; nothing is left running then. */
export async function startServer(options: ServerOptions): Promise<OpencodeServer> {
  const freePort = options.freePort ?? findFreePort
  let taken = ''
  for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt += 1) {
    const started = await tryPort(options, await freePort())
    if (!('taken' in started)) return started
    taken = started.taken
  }
  throw new BalletError({
    code: 'runtime.start-failed',
    message: `The server of opencode found no free port in ${PORT_ATTEMPTS} attempts: ${taken}`,
    hint: 'Try again. If it stays, look at what listens on this machine.',
  })
}

async function tryPort(
  options: ServerOptions,
  port: number,
): Promise<OpencodeServer | { taken: string }> {
  const { executable, cwd, marker, mask } = options
  const password = randomBytes(24).toString('base64url')
  const configFile = await writeConfig(options.scratchDir, options.config)
  let output = ''
  let found: ((url: string) => void) | undefined
  const listening = new Promise<string>((resolve) => {
    found = resolve
  })
  const process = await LineProcess.start(
    {
      executable,
      args: ['serve', '--hostname', '127.0.0.1', '--port', String(port), ...(options.args ?? [])],
      cwd,
      env: {
        ...launchEnvironment(options.env),
        OPENCODE_SERVER_PASSWORD: password,
        OPENCODE_CONFIG: configFile,
      },
      marker,
      mask,
    },
    (line) => {
      const text = line.kind === 'line' ? line.text : line.head
      output = `${output}\n${text}`.slice(-OUTPUT_KEPT)
      const url = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(text)?.[1]
      if (url !== undefined) found?.(url)
    },
  ).catch(async (error: unknown) => {
    throw await cannotStart('opencode', options, error)
  })
  const limitMs = options.readyLimitMs ?? READY_LIMIT_MS
  const url = await Promise.race([
    listening,
    process.exited.then(() => null),
    sleep(limitMs, undefined, { ref: false }),
  ])
  const said = () => [process.stderr, mask.mask(output.trim())].filter(Boolean).join('\n')
  const describeEnd = async () => describeExit('opencode', await process.exited, said())
  const ended = async () => endedInStart('opencode', await process.exited, said(), hintFor)
  if (typeof url === 'string') {
    const client = new OpencodeClient({ url, password })
    return { process, client, describeEnd, endedInStart: ended }
  }
  await endTree([marker], { graceMs: 0, limitMs: 10_000 })
  if (url === undefined) {
    throw new BalletError({
      code: 'runtime.start-failed',
      message:
        `The server of opencode did not get ready within ${limitMs / 1_000} s. ${said()}`.trim(),
      hint: 'Run `opencode serve` in a terminal to see whether it works there.',
    })
  }
  const detail = await describeEnd()
  if (/EADDRINUSE|in use|Failed to start server/i.test(detail)) return { taken: detail }
  throw await ended()
}

function hintFor(said: string): string {
  if (/ENOSPC|no space left|disk is full/i.test(said)) {
    return 'The disk is full: make room, then try again.'
  }
  if (/config/i.test(said)) {
    return 'Check the configuration of opencode (`opencode debug config` shows it), then try again.'
  }
  return 'Run `opencode serve` in a terminal to see whether it works there, then try again.'
}

/** opencode itself would take 4096, which a person's own opencode wants. */
function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('the system gives no port')),
      )
    })
  })
}
