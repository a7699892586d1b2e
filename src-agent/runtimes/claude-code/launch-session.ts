import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import { endTree } from '../../process-tree/index.ts'
import type { DriverSignal, DriverSpec } from '../driver.ts'
import { cannotStart, conversationLost, endedInStart } from '../failures.ts'
import { SecretMask } from '../mask-secrets.ts'
import { readVersion } from './find.ts'
import { configFolder, launchEnvironment, prepareLaunch } from './launch.ts'
import type { Line } from './lines.ts'
import { tokensOf, unreachableNotice, unreachableServers } from './mcp-servers.ts'
import { type ProcessHandlers, RuntimeProcess } from './runtime-process.ts'
import { ClaudeCodeSession } from './session.ts'
import { LOG_IN_HINT } from './turn-end.ts'

const HANDSHAKE_LIMIT_MS = 30_000
/** A program that ends at once breaks the pipe a moment before its end is known. */
const EXIT_GRACE_MS = 1_000
/** Of what is printed before the session is there to tell it, no more than this is kept. */
const STRAYS_KEPT = 20
const STRAY_LENGTH = 1_000

/** What the runtime printed before it was ready. */
type Early = {
  lines: Line[]
  /** What is not JSON, not known or too long, to be told by the session. */
  strays: ((session: ProcessHandlers) => void)[]
}

export type DriverPorts = {
  now: () => Instant
  newRequestId: () => RequestId
  newConversation: () => string
}

export type LaunchOptions = {
  spec: DriverSpec
  conversation: string
  resume: boolean
  ports: DriverPorts
  onSignal: (signal: DriverSignal) => void
  /** Runs between the handshake and the first message; what it throws ends the launch. */
  prove?: (process: RuntimeProcess) => Promise<void>
}

/** What a runtime says of itself before its first message. */
export const Initialized = z.looseObject({
  claude_code_version: z.string().optional(),
  /** A version without does not wait for its servers of MCP before the first turn. */
  capabilities: z.unknown().optional(),
  account: z
    .looseObject({
      tokenSource: z.string().optional(),
      apiKeySource: z.string().optional(),
      apiProvider: z.string().optional(),
      email: z.string().optional(),
    })
    .optional()
    .catch(undefined),
})

/** Starts Claude Code and brings it to the point where it takes a message. Nothing is left running when it rejects. */
export async function launchSession(options: LaunchOptions): Promise<ClaudeCodeSession> {
  const { spec, conversation, ports, onSignal } = options
  const args = await prepareLaunch(options).catch(async (error: unknown) => {
    throw await cannotStart('Claude Code', spec, error)
  })
  const env = launchEnvironment(spec.env)
  const mask = new SecretMask({ ...spec.env, ...tokensOf(spec.mcpServers) })
  const early: Early = { lines: [], strays: [] }
  const process = await startProcess(spec, args, { env, mask }, early)
  try {
    const initialized = Initialized.parse(await handshake(process, early.lines))
    refuseWithoutLogin(initialized.account)
    const unreachable = unreachableServers(process, spec.mcpServers)
    await options.prove?.(process)
    if (initialized.capabilities === undefined) await unreachable
    const version =
      initialized.claude_code_version ?? (await readVersion(spec.executable, spec.env))
    const session = new ClaudeCodeSession({
      process,
      marker: spec.marker,
      place: { configFolder: configFolder(env), cwd: spec.cwd, conversation },
      version: version ?? 'unknown',
      mask,
      strays: early.strays,
      onSignal,
      now: ports.now,
      newRequestId: ports.newRequestId,
    })
    void unreachable.then((servers) => session.tell(servers.map(unreachableNotice)))
    return session
  } catch (error) {
    await endTree([spec.marker], { limitMs: 10_000 })
    await process.exited
    throw error instanceof BalletError ? error : startFailed(String(error), process.stderr)
  }
}

async function startProcess(
  spec: DriverSpec,
  args: readonly string[],
  surroundings: { env: Readonly<Record<string, string>>; mask: SecretMask },
  early: Early,
): Promise<RuntimeProcess> {
  const keep = (stray: (session: ProcessHandlers) => void) => {
    if (early.strays.length < STRAYS_KEPT) early.strays.push(stray)
  }
  try {
    return await RuntimeProcess.start(
      {
        executable: spec.executable,
        args,
        cwd: spec.cwd,
        marker: spec.marker,
        ...surroundings,
      },
      {
        onLine: (decoded) => {
          if (decoded.kind === 'line') early.lines.push(decoded.line)
          else keep((session) => session.onLine(decoded))
        },
        onGarbage: (text) => {
          // A copy: a slice would hold the whole line.
          const head = Buffer.from(text.slice(0, STRAY_LENGTH)).toString()
          keep((session) => session.onGarbage(head))
        },
        onOversized: (head, bytes) => keep((session) => session.onOversized(head, bytes)),
      },
    )
  } catch (error) {
    throw await cannotStart('Claude Code', spec, error)
  }
}

async function handshake(process: RuntimeProcess, early: readonly Line[]): Promise<unknown> {
  try {
    return await process.control({ subtype: 'initialize' }, HANDSHAKE_LIMIT_MS)
  } catch (error) {
    await Promise.race([process.exited, sleep(EXIT_GRACE_MS)])
    if (!process.gone) {
      throw new BalletError({
        code: 'runtime.start-failed',
        message: `Claude Code did not get ready: ${error instanceof Error ? error.message : String(error)}`,
        hint: 'Run `claude` in a terminal to see whether it works there.',
      })
    }
    const exit = await process.exited
    const result = early.find((line) => line.type === 'result')
    const said = [result?.errors?.join('\n') ?? '', process.stderr].join('\n').trim()
    if (said.includes('No conversation found')) throw conversationLost(said)
    throw endedInStart('Claude Code', exit, process.stderr, () => hintFor(said))
  }
}

export function startFailed(message: string, said: string): BalletError {
  return new BalletError({ code: 'runtime.start-failed', message, hint: hintFor(said) })
}

function hintFor(said: string): string {
  if (/unknown option|invalid .*(?:model|mode)|argument .* is invalid/i.test(said)) {
    return 'Check the runtime arguments and the model in the settings of the project.'
  }
  if (/not logged in|\/login|API key/i.test(said)) return LOG_IN_HINT
  if (/ENOSPC|no space left/i.test(said)) return 'The disk is full: make room, then try again.'
  return 'Run `claude` in a terminal to see whether it works there, then try again.'
}

export function refuseWithoutLogin(account: z.infer<typeof Initialized>['account']): void {
  if (account?.apiProvider !== 'firstParty' || account.email !== undefined) return
  const sources = [account.tokenSource ?? 'none', account.apiKeySource ?? 'none']
  if (sources.some((source) => source !== 'none')) return
  throw new BalletError({
    code: 'runtime.not-logged-in',
    message: 'Claude Code is not logged in.',
    hint: LOG_IN_HINT,
  })
}
