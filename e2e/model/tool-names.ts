import type { Step } from './script.ts'

/**
 * Scripts name tools as Claude Code does. A runtime that offers others gets the call of its own tool that does the
 * same: the first row of the table whose tool is offered.
 */

type Input = Readonly<Record<string, unknown>>
type Call = { readonly name: string; readonly input: Record<string, unknown> }
type Row = { readonly tool: string; readonly input: (input: Input) => Record<string, unknown> }

/** Commands of Codex give their output after this time at the latest, in milliseconds; its own limit is 30 s. */
const CODEX_YIELD_MS = 30_000

const TABLE: Readonly<Record<string, readonly Row[]>> = {
  Bash: [
    { tool: 'bash', input: ({ command }) => ({ command, description: 'Runs a command' }) },
    { tool: 'exec_command', input: ({ command }) => inShell(String(command)) },
    { tool: 'shell_command', input: ({ command }) => ({ command }) },
    { tool: 'shell', input: ({ command }) => ({ command: ['bash', '-lc', command] }) },
    { tool: 'run_shell_command', input: ({ command }) => ({ command }) },
  ],
  Read: [
    { tool: 'read', input: ({ file_path: filePath }) => ({ filePath }) },
    { tool: 'exec_command', input: ({ file_path }) => inShell(`cat ${quoted(file_path)}`) },
    { tool: 'read_file', input: ({ file_path }) => ({ file_path }) },
  ],
  Write: [
    { tool: 'write', input: ({ file_path: filePath, content }) => ({ filePath, content }) },
    { tool: 'apply_patch', input: (input) => ({ input: addPatch(input) }) },
    { tool: 'exec_command', input: (input) => inShell(patching(addPatch(input))) },
    { tool: 'write_file', input: ({ file_path, content }) => ({ file_path, content }) },
  ],
  Edit: [
    {
      tool: 'edit',
      input: ({ file_path: filePath, old_string: oldString, new_string: newString }) => ({
        filePath,
        oldString,
        newString,
      }),
    },
    { tool: 'apply_patch', input: (input) => ({ input: changePatch(input) }) },
    { tool: 'exec_command', input: (input) => inShell(patching(changePatch(input))) },
    { tool: 'replace', input: (input) => ({ ...input }) },
  ],
  Glob: [
    { tool: 'glob', input: (input) => ({ ...input }) },
    { tool: 'Bash', input: ({ pattern }) => ({ command: `find . -name ${quoted(pattern)}` }) },
    { tool: 'exec_command', input: ({ pattern }) => inShell(`find . -name ${quoted(pattern)}`) },
  ],
  Grep: [
    { tool: 'grep', input: ({ pattern, path }) => ({ pattern, path }) },
    { tool: 'Bash', input: ({ pattern }) => ({ command: `grep -rn -e ${quoted(pattern)} .` }) },
    { tool: 'exec_command', input: ({ pattern }) => inShell(`grep -rn -e ${quoted(pattern)} .`) },
  ],
  TodoWrite: [
    { tool: 'todowrite', input: ({ todos }) => ({ todos: listOf(todos).map(withPriority) }) },
    { tool: 'update_plan', input: ({ todos }) => ({ plan: listOf(todos).map(asPlanned) }) },
  ],
}

/** The step with the tools that a request offers. What is offered as it is, or has no other name, is left. */
export function withOfferedTools(step: Step, offered: readonly string[]): Step {
  const { tool, input, tools, ...rest } = step
  return {
    ...rest,
    ...(tool === undefined ? {} : renamed(callFor(tool, input ?? {}, offered))),
    ...(tools === undefined
      ? {}
      : { tools: tools.map((each) => callFor(each.name, each.input ?? {}, offered)) }),
  }
}

function renamed({ name, input }: Call): Pick<Step, 'tool' | 'input'> {
  return { tool: name, input }
}

/** The name under which a tool is offered; undefined when it is not. */
export function offeredName(name: string, offered: readonly string[]): string | undefined {
  if (offered.includes(name)) return name
  const row = TABLE[name]?.find(({ tool }) => offered.includes(tool))
  if (row !== undefined) return row.tool
  // opencode joins the server's name and the tool's by one underscore.
  const [, server, tool] = /^mcp__(.+?)__(.+)$/u.exec(name) ?? []
  const joined = `${server}_${tool}`
  return server !== undefined && offered.includes(joined) ? joined : undefined
}

function callFor(name: string, input: Record<string, unknown>, offered: readonly string[]): Call {
  const found = offeredName(name, offered)
  if (found === undefined || found === name) return { name, input }
  const row = TABLE[name]?.find(({ tool }) => tool === found)
  return { name: found, input: row === undefined ? input : row.input(input) }
}

function inShell(cmd: string): Record<string, unknown> {
  return { cmd, yield_time_ms: CODEX_YIELD_MS }
}

function quoted(value: unknown): string {
  return `'${String(value).replaceAll("'", `'\\''`)}'`
}

function patching(patch: string): string {
  return `apply_patch <<'END_OF_PATCH'\n${patch}\nEND_OF_PATCH`
}

function addPatch({ file_path, content }: Input): string {
  const lines = String(content).replace(/\n$/u, '').split('\n')
  return patchOf(`*** Add File: ${String(file_path)}`, prefixed('+', lines))
}

/** Of whole lines: this is what a patch can change. */
function changePatch({ file_path, old_string, new_string }: Input): string {
  const lines = (value: unknown) => String(value).replace(/\n$/u, '').split('\n')
  return patchOf(`*** Update File: ${String(file_path)}`, [
    '@@',
    ...prefixed('-', lines(old_string)),
    ...prefixed('+', lines(new_string)),
  ])
}

function patchOf(head: string, lines: readonly string[]): string {
  return ['*** Begin Patch', head, ...lines, '*** End Patch'].join('\n')
}

function prefixed(sign: string, lines: readonly string[]): string[] {
  return lines.map((line) => `${sign}${line}`)
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value : []
}

function withPriority({ content, status }: Input): Record<string, unknown> {
  return { content, status, priority: 'medium' }
}

function asPlanned({ content, status }: Input): Record<string, unknown> {
  return { step: content, status }
}
