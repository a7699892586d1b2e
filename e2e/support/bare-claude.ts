import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endProcesses, processesWithVariable } from './process-tree.ts'
import { WAIT_LIMIT_MS, waitFor } from './wait-for.ts'

/** The Claude Code that is pinned as a development dependency. */
export const CLAUDE_PROGRAM = join(
  fileURLToPath(new URL('../..', import.meta.url)),
  'node_modules/.bin/claude',
)

/** A folder in which the lines of every process are kept, to be looked at by eye. */
const KEEP_LINES_IN = process.env.BALLET_CLAUDE_LINES

export type ClaudeLine = Readonly<Record<string, unknown>> & { readonly type?: unknown }

export interface BareClaudeOptions {
  /** Of the model server. */
  readonly url: string
  readonly cwd: string
  readonly configDir: string
  /** Continues this conversation. */
  readonly resume?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Called with each line as it comes. */
  readonly onLine?: (line: ClaudeLine) => void
}

/** Claude Code over its streaming interface with nothing of Ballet between: what a driver is measured against. */
export interface BareClaude {
  readonly pid: number
  /** `BALLET_TEST` in the environment of it and of everything that it starts. */
  readonly marker: string
  readonly lines: readonly ClaudeLine[]
  stderr(): string
  send(text: string): void
  control(request: Readonly<Record<string, unknown>>): void
  /** The first line from `from` on (default 0) that fits. */
  waitForLine(
    what: string,
    fits: (line: ClaudeLine) => boolean,
    options?: { readonly from?: number; readonly timeoutMs?: number },
  ): Promise<ClaudeLine>
  /** Sends a text and waits for the result of its turn. */
  turn(text: string, timeoutMs?: number): Promise<ClaudeLine>
  kill(signal: NodeJS.Signals): Promise<void>
  /** Closes its input and ends whatever is left of it after two seconds. */
  close(): Promise<void>
}

export function startBareClaude(options: BareClaudeOptions): BareClaude {
  const marker = randomUUID()
  const child = spawn(
    CLAUDE_PROGRAM,
    [
      ...'-p --input-format stream-json --output-format stream-json --verbose'.split(' '),
      ...'--include-partial-messages --replay-user-messages --model sonnet'.split(' '),
      ...'--permission-mode bypassPermissions --strict-mcp-config --setting-sources user'.split(
        ' ',
      ),
      ...(options.resume === undefined ? [] : ['--resume', options.resume]),
      ...(options.args ?? []),
    ],
    {
      cwd: options.cwd,
      detached: true,
      stdio: 'pipe',
      env: {
        PATH: process.env.PATH,
        HOME: options.configDir,
        CLAUDE_CONFIG_DIR: options.configDir,
        // Else it leaves its folders of tool outputs in the system's one.
        CLAUDE_CODE_TMPDIR: options.configDir,
        ANTHROPIC_BASE_URL: options.url,
        ANTHROPIC_API_KEY: 'sk-scripted-0000',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
        DISABLE_AUTOUPDATER: '1',
        ...(process.getuid?.() === 0 ? { IS_SANDBOX: '1' } : {}),
        ...options.env,
        BALLET_TEST: marker,
      },
    },
  )
  const lines: ClaudeLine[] = []
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // A write to a process that was killed fails; its exit is what tests look at.
  child.stdin.on('error', () => undefined)
  createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY }).on(
    'line',
    (line) => {
      const decoded = JSON.parse(line) as ClaudeLine
      lines.push(decoded)
      options.onLine?.(decoded)
      if (KEEP_LINES_IN !== undefined)
        appendFileSync(join(KEEP_LINES_IN, `${marker}.jsonl`), `${line}\n`)
    },
  )
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const write = (value: unknown): void => {
    child.stdin.write(`${JSON.stringify(value)}\n`)
  }
  const claude: BareClaude = {
    pid: child.pid ?? -1,
    marker,
    lines,
    stderr: () => stderr,
    send: (text) =>
      write({
        type: 'user',
        message: { role: 'user', content: text },
        parent_tool_use_id: null,
        uuid: randomUUID(),
      }),
    control: (request) => write({ type: 'control_request', request_id: randomUUID(), request }),
    waitForLine: (what, fits, { from = 0, timeoutMs = WAIT_LIMIT_MS } = {}) =>
      waitFor(what, () => lines.slice(from).find(fits), {
        timeoutMs,
        state: () => `${stderr}\n${lines.slice(-15).map(shorten).join('\n')}`,
      }),
    turn: (text, timeoutMs = WAIT_LIMIT_MS) => {
      const from = lines.length
      claude.send(text)
      return claude.waitForLine('the end of the turn', isResult, { from, timeoutMs })
    },
    kill: async (signal) => {
      child.kill(signal)
      await exited
    },
    close: () => close(child, exited, marker),
  }
  return claude
}

export function isResult(line: ClaudeLine): boolean {
  return line.type === 'result'
}

async function close(child: ChildProcess, exited: Promise<void>, marker: string): Promise<void> {
  child.stdin?.end()
  const timer = setTimeout(() => child.kill('SIGKILL'), 2_000)
  await exited
  clearTimeout(timer)
  await endProcesses(await processesWithVariable('BALLET_TEST', marker))
}

function shorten(line: ClaudeLine): string {
  return JSON.stringify(line).slice(0, 300)
}
