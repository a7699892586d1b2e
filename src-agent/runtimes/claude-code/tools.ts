import type { ToolKind } from '../../../src-shared/records.ts'
import type { FileDiff, TodoItem } from '../../../src-shared/timeline.ts'
import { asRecord } from '../as-record.ts'
import { oneLine } from '../cut-text.ts'
import { shownPath } from '../shown-path.ts'

const KINDS: Readonly<Record<string, ToolKind>> = {
  Read: 'read',
  Edit: 'edit',
  MultiEdit: 'edit',
  Write: 'edit',
  NotebookEdit: 'edit',
  Glob: 'search',
  Grep: 'search',
  ToolSearch: 'search',
  Bash: 'execute',
  PowerShell: 'execute',
  WebFetch: 'fetch',
  WebSearch: 'fetch',
  Task: 'agent',
  Agent: 'agent',
}

export function toolKindOf(name: string): ToolKind {
  return name.startsWith('mcp__') ? 'mcp' : (KINDS[name] ?? 'other')
}

/** The argument that says what a call does. */
const TITLE_FIELDS: Readonly<Record<string, string>> = {
  Read: 'file_path',
  Edit: 'file_path',
  MultiEdit: 'file_path',
  Write: 'file_path',
  NotebookEdit: 'notebook_path',
  Glob: 'pattern',
  Grep: 'pattern',
  ToolSearch: 'query',
  Bash: 'command',
  PowerShell: 'command',
  WebFetch: 'url',
  WebSearch: 'query',
  Task: 'description',
  Agent: 'description',
  Skill: 'skill',
}

/** One line that says what the call does; paths inside the workspace are shown from its root. */
export function toolTitle(name: string, input: unknown, cwd: string): string {
  const fields = asRecord(input)
  if (name === 'TodoWrite') return `${readTodos(name, input)?.length ?? 0} todos`
  const field = TITLE_FIELDS[name]
  const value = field === undefined ? firstText(fields) : fields[field]
  if (typeof value !== 'string' || value.trim() === '') return shownName(name)
  if (field === 'file_path' || field === 'notebook_path') return shownPath(value, cwd)
  return field === undefined ? oneLine(`${shownName(name)}: ${value}`) : oneLine(value)
}

/** A tool of MCP, `mcp__server__a_tool`, as people read it: `server: a tool`. */
function shownName(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
  return tool === undefined ? name : `${server}: ${tool.replaceAll('_', ' ')}`
}

/** The list of a todo call; null for every other call. */
export function readTodos(name: string, input: unknown): TodoItem[] | null {
  const todos = asRecord(input).todos
  if (name !== 'TodoWrite' || !Array.isArray(todos)) return null
  return todos.flatMap((entry: unknown) => {
    const { content, status } = asRecord(entry)
    if (typeof content !== 'string') return []
    return { text: content, status: TODO_STATES[String(status)] ?? 'pending' }
  })
}

const TODO_STATES: Readonly<Record<string, TodoItem['status']>> = {
  in_progress: 'active',
  completed: 'done',
}

/** Bytes of a patch that an event holds at most; its counts are always whole. */
const PATCH_LIMIT = 64 * 1024

/** What an edit changed, from the structured result of Write, Edit and the like; null for other tools. */
export function readDiff(result: unknown, cwd: string): FileDiff[] | null {
  const { filePath, structuredPatch, type, content } = asRecord(result)
  if (typeof filePath !== 'string') return null
  const hunks = Array.isArray(structuredPatch) ? structuredPatch.map(asRecord) : []
  const lines = hunks.flatMap((hunk) => [hunkHead(hunk), ...textLines(hunk.lines)])
  if (lines.length === 0 && type === 'create' && typeof content === 'string') {
    const added = content === '' ? [] : content.replace(/\n$/, '').split('\n')
    lines.push(`@@ -0,0 +1,${added.length} @@`, ...added.map((line) => `+${line}`))
  }
  if (lines.length === 0) return null
  return [
    {
      path: shownPath(filePath, cwd),
      patch: joinUpTo(lines, PATCH_LIMIT),
      added: lines.filter((line) => line.startsWith('+')).length,
      removed: lines.filter((line) => line.startsWith('-')).length,
    },
  ]
}

/** The text of a tool's result; images and the like are named. */
export function resultText(content: unknown): string {
  if (typeof content === 'string') {
    return content.replace(/^<tool_use_error>([\s\S]*)<\/tool_use_error>$/, '$1')
  }
  if (!Array.isArray(content)) {
    return content === undefined || content === null ? '' : JSON.stringify(content)
  }
  return content.map((part: unknown) => partText(asRecord(part))).join('\n')
}

function partText(part: Record<string, unknown>): string {
  if (part.type === 'text' && typeof part.text === 'string') return part.text
  if (part.type === 'image') {
    const { media_type: type, data } = asRecord(part.source)
    const size =
      typeof data === 'string' ? `, ${Math.round((data.length * 3) / 4 / 1_024)} KiB` : ''
    return `[image ${typeof type === 'string' ? type : ''}${size}]`
  }
  if (part.type === 'tool_reference') return `[tool ${String(part.tool_name ?? '')}]`
  return JSON.stringify(part)
}

function hunkHead(hunk: Record<string, unknown>): string {
  const { oldStart, oldLines, newStart, newLines } = hunk
  return `@@ -${Number(oldStart)},${Number(oldLines)} +${Number(newStart)},${Number(newLines)} @@`
}

function textLines(lines: unknown): string[] {
  return Array.isArray(lines) ? lines.filter((line) => typeof line === 'string') : []
}

function joinUpTo(lines: readonly string[], limit: number): string {
  let size = 0
  const fitting = lines.filter((line) => {
    size += line.length + 1
    return size <= limit
  })
  return fitting.join('\n')
}

function firstText(fields: Record<string, unknown>): unknown {
  return Object.values(fields).find((value) => typeof value === 'string')
}
