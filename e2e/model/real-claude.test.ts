import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type BareClaude,
  type BareClaudeOptions,
  type ClaudeLine,
  isResult,
  startBareClaude,
} from '../support/bare-claude.ts'
import { isAlive, type ProcessInfo, processesWithVariable } from '../support/process-tree.ts'
import { makeTempFolder, type TempFolder } from '../support/temp-folder.ts'
import { waitFor } from '../support/wait-for.ts'
import { isRecord, wholeText } from './messages.ts'
import type { RecordedRequest } from './record.ts'
import { encodeScript, type Step } from './script.ts'
import { type ModelServer, startModelServer } from './server.ts'

// The pinned Claude Code itself, against the scripted model.

let folder: TempFolder
let server: ModelServer
let running: BareClaude[] = []

beforeEach(async () => {
  folder = await makeTempFolder('b-claude-')
  await mkdir(join(folder.path, 'config'))
  await mkdir(join(folder.path, 'work'))
  server = await startModelServer()
})

afterEach(async () => {
  await Promise.all(running.map((claude) => claude.close()))
  running = []
  await server.close()
  await folder.remove()
})

function start(options: Partial<BareClaudeOptions> = {}): BareClaude {
  const claude = startBareClaude({
    url: server.url,
    cwd: join(folder.path, 'work'),
    configDir: join(folder.path, 'config'),
    ...options,
  })
  running.push(claude)
  return claude
}

const inWork = (name: string): string => join(folder.path, 'work', name)
const inline = (steps: readonly Step[]): string => `@@${JSON.stringify(steps)}@@`
const bash = (command: string): Step => ({ tool: 'Bash', input: { command } })

function modelRequests(): RecordedRequest[] {
  return server.requestsFor((request) => request.step !== undefined)
}

function toolResults(claude: BareClaude): unknown[] {
  return claude.lines.flatMap((line) =>
    line.type === 'user' && line.tool_use_result !== undefined ? [line.tool_use_result] : [],
  )
}

function sessionOf(claude: BareClaude): string {
  const id = claude.lines.find((line) => typeof line.session_id === 'string')?.session_id
  if (typeof id !== 'string') throw new Error('No session id was seen.')
  return id
}

/** The runtime writes its transcript a moment after its lines; before that, a kill loses the conversation. */
function transcriptHolds(claude: BareClaude, text: string): Promise<true> {
  const projects = join(folder.path, 'config', 'projects')
  return waitFor(`${text} in the transcript`, async () => {
    const files = await readdir(projects, { recursive: true })
    const file = files.find((name) => name.endsWith(`${sessionOf(claude)}.jsonl`))
    return file !== undefined && (await readFile(join(projects, file), 'utf8')).includes(text)
  })
}

function isToolUse(line: ClaudeLine): boolean {
  return line.type === 'assistant' && JSON.stringify(line.message).includes('"tool_use"')
}

function runningTool(claude: BareClaude, command: string): Promise<ProcessInfo> {
  return waitFor(`the process ${command}`, async () => {
    const found = await processesWithVariable('BALLET_TEST', claude.marker)
    return found.find((info) => info.command === command)
  })
}

it('runs the tools of a script, streams its text, and gives an edit as a patch', async () => {
  const claude = start()
  const result = await claude.turn(
    `Please do. ${inline([
      { thinking: 'I look first.', text: 'Working on it, step by step.', chunks: 5, ...bash('ls') },
      { tool: 'Write', input: { file_path: '{{cwd}}/a.txt', content: 'one\ntwo\nthree\n' } },
      {
        tool: 'Edit',
        input: { file_path: '{{cwd}}/a.txt', old_string: 'two', new_string: 'TWO' },
      },
      { text: 'Done.' },
    ])}`,
  )
  expect(result).toMatchObject({ subtype: 'success', is_error: false, result: 'Done.' })
  expect(await readFile(inWork('a.txt'), 'utf8')).toBe('one\nTWO\nthree\n')
  expect(toolResults(claude)).toMatchObject([
    { stdout: '' },
    { type: 'create', filePath: inWork('a.txt') },
    {
      filePath: inWork('a.txt'),
      structuredPatch: [{ lines: [' one', '-two', '+TWO', ' three'] }],
    },
  ])
  const deltas = claude.lines.filter(
    (line) => line.type === 'stream_event' && JSON.stringify(line.event).includes('text_delta'),
  )
  expect(deltas.length).toBeGreaterThanOrEqual(5)
  expect(JSON.stringify(claude.lines)).toContain('"thinking":"I look first."')
  expect(modelRequests().map(({ step }) => step)).toEqual([
    { script: 'inline', index: 0, total: 4 },
    { script: 'inline', index: 1, total: 4 },
    { script: 'inline', index: 2, total: 4 },
    { script: 'inline', index: 3, total: 4 },
  ])
  expect(modelRequests()[0]?.session).toBe(sessionOf(claude))
})

it('loses its tool by an interrupt, and answers what follows without the old script', async () => {
  const claude = start()
  claude.send(`Long job. ${inline([{ text: 'Starting.', ...bash('sleep 300') }, { text: 'No.' }])}`)
  const sleeping = await runningTool(claude, 'sleep 300')
  const from = claude.lines.length
  claude.control({ subtype: 'interrupt' })
  const result = await claude.waitForLine('the end of the turn', isResult, { from })
  await waitFor('the end of sleep', async () => !(await isAlive(sleeping)))
  expect(result).toMatchObject({ is_error: true, terminal_reason: 'aborted_tools' })

  expect(await claude.turn('What happened?')).toMatchObject({ result: 'ok: What happened?' })
  const request = modelRequests().at(-1)
  expect(request?.step).toEqual({ script: 'fallback', index: 0, total: 1 })
  const seen = wholeText(request?.messages)
  for (const part of ['Long job.', 'Starting.', 'sleep 300', 'Request interrupted by user']) {
    expect(seen).toContain(part)
  }
})

it('has its stream cut by an interrupt, and the record says when', async () => {
  const claude = start()
  claude.send(inline([{ text: 'Once upon a time. '.repeat(20), chunks: 20, gate: 'never' }]))
  await claude.waitForLine('the first delta', (line) => JSON.stringify(line).includes('text_delta'))
  claude.control({ subtype: 'interrupt' })
  const result = await claude.waitForLine('the end of the turn', isResult)
  expect(result).toMatchObject({ terminal_reason: 'aborted_streaming' })
  await server.waitFor(({ abortedAt }) => abortedAt !== undefined)
  expect(await claude.turn('Go on.')).toMatchObject({ result: 'ok: Go on.' })
})

it('goes on with its script when a message comes during the turn', async () => {
  const claude = start()
  claude.send(
    inline([bash('until [ -e go ]; do sleep 0.05; done; echo went'), { text: 'Script went on.' }]),
  )
  await claude.waitForLine('the tool call', isToolUse)
  claude.send('Also update the README.')
  await claude.waitForLine('its place in the queue', (line) =>
    JSON.stringify(line).includes('"queued"'),
  )
  await writeFile(inWork('go'), '')
  const result = await claude.waitForLine('the end of the turn', isResult)
  expect(result).toMatchObject({ result: 'Script went on.' })
  const [first, second] = modelRequests()
  expect(wholeText(first?.messages)).not.toContain('Also update the README.')
  expect(wholeText(second?.messages)).toContain('Also update the README.')
})

it('is killed in a tool, and the resumed conversation holds all that was before', async () => {
  const claude = start()
  await claude.turn('Remember PELICAN.')
  claude.send(`Run it. ${inline([{ text: 'Running.', ...bash('sleep 300') }, { text: 'No.' }])}`)
  await runningTool(claude, 'sleep 300')
  await transcriptHolds(claude, '"name":"Bash"')
  await claude.kill('SIGKILL')

  const resumed = start({ resume: sessionOf(claude) })
  expect(await resumed.turn('Continue.')).toMatchObject({ result: 'ok: Continue.' })
  const request = modelRequests().at(-1)
  expect(request?.session).toBe(sessionOf(claude))
  const seen = wholeText(request?.messages)
  for (const part of ['Remember PELICAN.', 'ok: Remember PELICAN.', 'Run it.', 'Running.']) {
    expect(seen).toContain(part)
  }
})

it('is killed in a stream, and the resumed conversation does not repeat the script', async () => {
  const claude = start()
  claude.send(`Tell. ${inline([{ text: 'Once upon a time. '.repeat(20), gate: 'never' }])}`)
  await claude.waitForLine('the first delta', (line) => JSON.stringify(line).includes('text_delta'))
  await transcriptHolds(claude, 'Tell.')
  await claude.kill('SIGKILL')
  const resumed = start({ resume: sessionOf(claude) })
  expect(await resumed.turn('Continue.')).toMatchObject({ result: 'ok: Continue.' })
  expect(wholeText(modelRequests().at(-1)?.messages)).toContain('Tell.')
})

it('runs a subagent by the script in its prompt', async () => {
  const claude = start()
  const prompt = `Check the files. ${encodeScript([
    { text: 'The subagent works.', ...bash('echo in-sub') },
    { text: 'The subagent is done.' },
  ])}`
  const result = await claude.turn(
    inline([
      {
        text: 'Delegating.',
        tool: 'Agent',
        input: { description: 'check', prompt, subagent_type: 'general-purpose' },
      },
      { text: 'All done.' },
    ]),
  )
  expect(result).toMatchObject({ result: 'All done.' })
  const inSubagent = claude.lines.filter((line) => typeof line.parent_tool_use_id === 'string')
  expect(JSON.stringify(inSubagent)).toContain('in-sub')
  expect(wholeText(modelRequests().at(-1)?.messages)).toContain('The subagent is done.')
})

it('keeps a list of what is to do where the runtime is told to offer the tool', async () => {
  const claude = start({
    env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1', CLAUDE_CODE_ENABLE_TASKS: '0' },
  })
  const todos = [{ content: 'Read it', status: 'in_progress', activeForm: 'Reading it' }]
  const tools = [{ name: 'TodoWrite', optional: true, input: { todos } }]
  await claude.turn(inline([{ text: 'A plan.', tools }, { text: 'Done.' }]))
  expect(toolResults(claude)).toEqual([{ oldTodos: [], newTodos: todos }])
})

it('tries again when the model is overloaded, and gives up on a wrong key', async () => {
  const claude = start({ env: { CLAUDE_CODE_MAX_RETRIES: '2' } })
  const overloaded = await claude.turn(
    inline([{ text: 'At last.', fail: [{ status: 529, times: 1 }] }]),
  )
  expect(overloaded).toMatchObject({ is_error: false, result: 'At last.' })
  const retries = claude.lines.filter((line) => line.subtype === 'api_retry')
  expect(retries).toMatchObject([{ attempt: 1, error_status: 529 }])
  const wrongKey = await claude.turn(inline([{ fail: [{ status: 403 }] }]))
  expect(wrongKey).toMatchObject({ is_error: true, api_error_status: 403 })
})

it('makes a new request when a stream is cut', async () => {
  const claude = start()
  const result = await claude.turn(inline([{ text: 'Whole at last.', chunks: 4, cut: 1 }]))
  expect(result).toMatchObject({ is_error: false, result: 'Whole at last.' })
  expect(modelRequests().map(({ attempt }) => attempt)).toEqual([0, 1])
})

it('serves several at once, each with its own script', async () => {
  const names = ['one', 'two', 'three']
  const results = await Promise.all(
    names.map((name) =>
      start().turn(inline([bash(`echo ${name} > ${name}.txt`), { text: `${name} is done.` }])),
    ),
  )
  expect(results.map((result) => (isRecord(result) ? result.result : undefined))).toEqual(
    names.map((name) => `${name} is done.`),
  )
  for (const name of names) expect(await readFile(inWork(`${name}.txt`), 'utf8')).toBe(`${name}\n`)
})
