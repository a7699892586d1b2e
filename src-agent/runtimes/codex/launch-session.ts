import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import { endTree } from '../../process-tree/index.ts'
import type { DriverSignal, DriverSpec } from '../driver.ts'
import { cannotStart, endedInStart } from '../failures.ts'
import { SecretMask } from '../mask-secrets.ts'
import { AppServer, RpcError } from './app-server.ts'
import { readVersion } from './find.ts'
import { launchEnvironment, serverArguments, threadParams } from './launch.ts'
import { AccountResult, ThreadResult } from './protocol.ts'
import { CodexSession } from './session.ts'
import { LOG_IN_HINT } from './turn-end.ts'

/** A thread is begun or resumed after what the user configured is started. */
const THREAD_LIMIT_MS = 60_000
const ACCOUNT_LIMIT_MS = 10_000
const CLIENT = { name: 'ballet', title: 'Ballet', version: '1' }

export type DriverPorts = {
  now: () => Instant
  newRequestId: () => RequestId
  /** How long the server may take to answer at all. */
  handshakeLimitMs: number
  /** How long it may take to read the answer to a request of its own. */
  answerLimitMs: number
}

export type Thread = { id: string; record: string | null }

export type LaunchOptions<T> = {
  spec: DriverSpec
  ports: DriverPorts
  onSignal: (signal: DriverSignal) => void
  /** Begins the thread or resumes it; what it throws ends the launch. */
  open: (server: AppServer) => Promise<{ thread: Thread; outcome: T }>
}

/** Starts Codex and brings it to the point where it takes a message. Nothing is left running when it rejects. */
export async function launchSession<T>(
  options: LaunchOptions<T>,
): Promise<{ session: CodexSession; outcome: T }> {
  const { spec, ports, onSignal } = options
  const mask = maskOf(spec)
  const server = await startServer(spec, mask)
  try {
    const said = await handshake(server, ports.handshakeLimitMs)
    await refuseWithoutLogin(server)
    const { thread, outcome } = await options.open(server)
    const version = said ?? (await readVersion(spec.executable, spec.env))
    const session = new CodexSession({
      ...{ ...ports, server, spec, mask, onSignal },
      ...{ conversation: thread.id, record: thread.record, version: version ?? 'unknown' },
    })
    return { session, outcome }
  } catch (error) {
    const failure = error instanceof BalletError ? error : await describeFailure(server, error)
    await endTree([spec.marker], { limitMs: 10_000 })
    await server.exited
    throw failure
  }
}

/** Begins a new conversation. */
export async function beginThread(
  server: AppServer,
  spec: DriverSpec,
): Promise<{ thread: Thread; outcome: null }> {
  const result = await server.request('thread/start', await threadParams(spec), THREAD_LIMIT_MS)
  return { thread: threadOf(result), outcome: null }
}

/** Goes on with one. Rejects with `RpcError` when the server does not have it. */
export async function resumeThread(
  server: AppServer,
  spec: DriverSpec,
  conversation: string,
): Promise<Thread> {
  const params = { ...(await threadParams(spec)), threadId: conversation, excludeTurns: true }
  return threadOf(await server.request('thread/resume', params, THREAD_LIMIT_MS))
}

function threadOf(result: unknown): Thread {
  const { id, path } = ThreadResult.parse(result).thread
  return { id, record: path ?? null }
}

export function maskOf(spec: DriverSpec): SecretMask {
  const tokens = spec.mcpServers.map(({ name, token }) => [
    `${name.toUpperCase()}_MCP_TOKEN`,
    token,
  ])
  return new SecretMask({ ...spec.env, ...Object.fromEntries(tokens) })
}

async function startServer(spec: DriverSpec, mask: SecretMask): Promise<AppServer> {
  try {
    return await AppServer.start({
      executable: spec.executable,
      args: serverArguments(spec),
      cwd: spec.cwd,
      env: launchEnvironment(spec.env),
      marker: spec.marker,
      mask,
    })
  } catch (error) {
    throw await cannotStart('Codex', spec, error)
  }
}

/** The version that the server says it has, such as `0.171.0`; null when it does not say. */
async function handshake(server: AppServer, limitMs: number): Promise<string | null> {
  const result = await server.request('initialize', { clientInfo: CLIENT }, limitMs)
  await server.notify('initialized')
  const agent: unknown =
    typeof result === 'object' && result !== null && 'userAgent' in result ? result.userAgent : ''
  return /^[^/]+\/(\d+\.\d+\.\d+)/.exec(String(agent))?.[1] ?? null
}

/** A provider of the user's own may need none. */
async function refuseWithoutLogin(server: AppServer): Promise<void> {
  let account: ReturnType<typeof AccountResult.safeParse>
  try {
    account = AccountResult.safeParse(await server.request('account/read', {}, ACCOUNT_LIMIT_MS))
  } catch (error) {
    // The first turn finds out.
    if (error instanceof RpcError) return
    throw error
  }
  if (account.data?.requiresOpenaiAuth !== true || account.data.account !== null) return
  throw new BalletError({
    code: 'runtime.not-logged-in',
    message: 'Codex is not logged in.',
    hint: LOG_IN_HINT,
  })
}

async function describeFailure(server: AppServer, error: unknown): Promise<BalletError> {
  const why = error instanceof Error ? error.message : String(error)
  if (server.gone || (!(error instanceof RpcError) && (await server.endsSoon()))) {
    const said = server.stderr
    return endedInStart('Codex', await server.exited, said, (text) => hintFor(`${text}\n${said}`))
  }
  const message = `Codex did not get ready: ${why}`
  return new BalletError({
    code: 'runtime.start-failed',
    message,
    hint: hintFor(`${message}\n${server.stderr}`),
  })
}

function hintFor(said: string): string {
  if (/unexpected argument|unrecognized subcommand|invalid value/i.test(said)) {
    return 'Check the runtime arguments and the model in the settings of the project.'
  }
  if (/config\.toml|TOML|model provider/i.test(said)) {
    return "Check Codex's config.toml: run `codex` in a terminal to see whether it works there."
  }
  if (/ENOSPC|no space left/i.test(said)) return 'The disk is full: make room, then try again.'
  return 'Run `codex` in a terminal to see whether it works there, then try again.'
}
