import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { BalletError } from '../../../src-shared/refusal.ts'
import type { ReadOnlyAnswer, ReadOnlyRun } from '../driver.ts'
import { describeExit } from '../line-process.ts'
import { SecretMask } from '../mask-secrets.ts'
import { isOlder } from '../versions.ts'
import { launchEnvironment } from './launch.ts'
import { Initialized, refuseWithoutLogin } from './launch-session.ts'
import type { ResultLine } from './lines.ts'
import { RuntimeProcess } from './runtime-process.ts'
import { turnEndOf } from './turn-end.ts'
import { readModelAccess } from './user-settings.ts'

/** The oldest version of which it was measured that these arguments keep it inside its folder. */
const OLDEST_VERSION = '2.1.332'
const MOST_TURNS = 40
const HANDSHAKE_LIMIT_MS = 30_000
/** A runtime that has answered may take this long to end by itself. */
const EXIT_LIMIT_MS = 2_000

/** What keeps it from reading outside its folder, from writing, and from running anything. */
const READ_ONLY = [
  ...'-p --input-format stream-json --output-format stream-json --verbose'.split(' '),
  ...'--permission-mode dontAsk --tools Read,Grep,Glob'.split(' '),
  // Settings of the user could allow to read elsewhere, and run hooks.
  ...['--setting-sources', '', '--strict-mcp-config', '--disable-slash-commands'],
  '--no-session-persistence',
] as const

/** Lets Claude Code read one folder and answer one message. The arguments of projects play no part: they could widen it. */
export async function runReadOnly(run: ReadOnlyRun): Promise<ReadOnlyAnswer> {
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = () => reject(new BalletError(ABORTED))
    if (run.signal.aborted) onAbort()
    else run.signal.addEventListener('abort', onAbort, { once: true })
  })
  return Promise.race([aborted, converse(run)])
}

const ABORTED = { code: 'runtime.aborted', message: 'The run of Claude Code was ended.' } as const

async function converse(run: ReadOnlyRun): Promise<ReadOnlyAnswer> {
  const mask = new SecretMask(run.env)
  let answered: (result: ResultLine) => void = () => undefined
  const result = new Promise<ResultLine>((resolve) => {
    answered = resolve
  })
  const process = await start(run, mask, answered)
  const ended = process.exited.then((exit) => {
    throw failed(describeExit('Claude Code', exit, process.stderr))
  })
  ended.catch(() => undefined)
  const initialized = Initialized.parse(
    await Promise.race([ended, process.control({ subtype: 'initialize' }, HANDSHAKE_LIMIT_MS)]),
  )
  refuseOlder(initialized.claude_code_version ?? null)
  refuseWithoutLogin(initialized.account)
  await process.write({
    type: 'user',
    message: { role: 'user', content: run.prompt },
    parent_tool_use_id: null,
    // Else it would read every file that the prompt mentions with an @, wherever it is, and take a / for a command.
    client_composed: true,
  })
  process.closeInput()
  const line = await Promise.race([result, ended])
  await Promise.race([process.exited, sleep(EXIT_LIMIT_MS)])
  return answerOf(line, mask)
}

async function start(
  run: ReadOnlyRun,
  mask: SecretMask,
  answered: (result: ResultLine) => void,
): Promise<RuntimeProcess> {
  const settings = JSON.stringify(await readModelAccess(run.env))
  await writeFile(run.settingsFile, settings, { mode: 0o600 })
  const args = [
    ...READ_ONLY,
    ...['--settings', run.settingsFile],
    ...['--max-turns', String(MOST_TURNS), '--max-budget-usd', String(run.costLimitUsd)],
    ...(run.model === null ? [] : ['--model', run.model]),
    ...['--append-system-prompt', run.instructions],
  ]
  // A long wait for a model that is busy is no use to a short run.
  const env = { ...launchEnvironment(run.env), CLAUDE_CODE_MAX_RETRIES: '3' }
  const { executable, cwd, marker } = run
  try {
    return await RuntimeProcess.start(
      { executable, args, cwd, env, marker, mask },
      {
        onLine: (decoded) => {
          if (decoded.kind === 'line' && decoded.line.type === 'result') answered(decoded.line)
        },
        onGarbage: () => undefined,
        onOversized: () => undefined,
      },
    )
  } catch (error) {
    throw failed(error instanceof Error ? error.message : String(error))
  }
}

function refuseOlder(version: string | null): void {
  if (version !== null && !isOlder(version, OLDEST_VERSION)) return
  throw new BalletError({
    code: 'runtime.too-old',
    message: `Claude Code ${version ?? 'of an unknown version'} is not known to stay inside its folder; ${OLDEST_VERSION} and newer do.`,
    hint: 'Run `claude update`, or `npm install -g @anthropic-ai/claude-code@latest`.',
  })
}

function answerOf(line: ResultLine, mask: SecretMask): ReadOnlyAnswer {
  if (line.is_error !== true) {
    return { text: line.result ?? '', costUsd: Math.max(0, line.total_cost_usd ?? 0) }
  }
  const { detail, hint } = turnEndOf(line, { ended: null, limitUntil: undefined })
  throw failed(mask.mask(detail ?? line.subtype), hint)
}

function failed(message: string, hint?: string): BalletError {
  return new BalletError({
    code: 'runtime.failed',
    message,
    ...(hint === undefined ? {} : { hint }),
  })
}
