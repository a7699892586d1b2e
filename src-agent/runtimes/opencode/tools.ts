import type { ToolKind } from '../../../src-shared/records.ts'
import type { FileDiff, TodoItem } from '../../../src-shared/timeline.ts'
import { asRecord } from '../as-record.ts'
import { oneLine } from '../cut-text.ts'
import { diffOfRawOutput } from '../diffs.ts'
import { shownPath } from '../shown-path.ts'

const KINDS: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  edit: 'edit',
  multiedit: 'edit',
  write: 'edit',
  patch: 'edit',
  apply_patch: 'edit',
  glob: 'search',
  grep: 'search',
  list: 'search',
  codesearch: 'search',
  lsp: 'search',
  bash: 'execute',
  webfetch: 'fetch',
  websearch: 'fetch',
  task: 'agent',
}

/** `mcp__server__tool` for a tool of a server of MCP, which opencode calls `server_tool`. */
export function shownName(name: string, servers: readonly string[]): string {
  const server = servers.find((candidate) => name.startsWith(`${candidate}_`))
  return server === undefined ? name : `mcp__${server}__${name.slice(server.length + 1)}`
}

export function toolKindOf(name: string): ToolKind {
  return name.startsWith('mcp__') ? 'mcp' : (KINDS[name] ?? 'other')
}

/** The argument that says what a call does. */
const TITLE_FIELDS: Readonly<Record<string, string>> = {
  read: 'filePath',
  edit: 'filePath',
  multiedit: 'filePath',
  write: 'filePath',
  glob: 'pattern',
  grep: 'pattern',
  list: 'path',
  bash: 'command',
  webfetch: 'url',
  websearch: 'query',
  codesearch: 'query',
  task: 'description',
  skill: 'name',
}

/** One line that says what the call does; paths inside the workspace are shown from its root. */
export function toolTitle(name: string, input: unknown, cwd: string): string {
  const fields = asRecord(input)
  if (name === 'todowrite') return `${readTodos(name, input)?.length ?? 0} todos`
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
  const shown = tool === undefined ? name : `${server}: ${tool.replaceAll('_', ' ')}`
  const field = TITLE_FIELDS[name]
  const value =
    field === undefined
      ? Object.values(fields).find((each) => typeof each === 'string')
      : fields[field]
  if (typeof value !== 'string' || value.trim() === '') return shown
  if (field === 'filePath' || field === 'path') return shownPath(value, cwd)
  return field === undefined ? oneLine(`${shown}: ${value}`) : oneLine(value)
}

const TODO_STATES: Readonly<Record<string, TodoItem['status']>> = {
  in_progress: 'active',
  completed: 'done',
  cancelled: 'done',
}

/** The list of a todo call; null for every other call. */
export function readTodos(name: string, input: unknown): TodoItem[] | null {
  const { todos } = asRecord(input)
  if (name !== 'todowrite' || !Array.isArray(todos)) return null
  return todos.flatMap((entry: unknown) => {
    const { content, status } = asRecord(entry)
    if (typeof content !== 'string') return []
    return { text: content, status: TODO_STATES[String(status)] ?? 'pending' }
  })
}

/** What a finished call changed; null for calls that change nothing. */
export function readDiff(
  name: string,
  input: unknown,
  metadata: unknown,
  cwd: string,
): FileDiff[] | null {
  if (toolKindOf(name) !== 'edit') return null
  const path = asRecord(input).filePath ?? asRecord(metadata).filepath
  if (typeof path !== 'string') return null
  const found = diffOfRawOutput({ metadata }, path, cwd) ?? newFile(input, metadata, path, cwd)
  return found === null ? null : [found]
}

/** A write tells no diff; of a file that was not there it is all of it. */
function newFile(input: unknown, metadata: unknown, path: string, cwd: string): FileDiff | null {
  const { content } = asRecord(input)
  if (asRecord(metadata).exists !== false || typeof content !== 'string') return null
  const lines = content === '' ? [] : content.replace(/\n$/, '').split('\n')
  const diff = [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`)].join('\n')
  const made = diffOfRawOutput({ metadata: { diff } }, path, cwd)
  return lines.length === 0 ? null : made
}
