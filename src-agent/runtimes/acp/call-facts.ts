import { McpCall } from '../../../src-shared/mcp-tools.ts'
import type { ToolKind } from '../../../src-shared/records.ts'
import type { TodoItem } from '../../../src-shared/timeline.ts'
import { asRecord } from '../as-record.ts'
import { oneLine } from '../cut-text.ts'
import { shownPath } from '../shown-path.ts'
import type { ToolCallUpdate } from './updates.ts'

const KINDS: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  edit: 'edit',
  delete: 'edit',
  move: 'edit',
  search: 'search',
  execute: 'execute',
  fetch: 'fetch',
}

/** What a call is called: the agent's own name of the tool, or `mcp__<server>__<tool>` for one of Ballet's servers. */
export type CallName = {
  name: string
  /** Shown as a tool of MCP, of whichever server. */
  isMcp: boolean
  /** One of the tools that Ballet serves, which are called without asking anybody. */
  isBallets: boolean
}

/** A title that is no sentence and no path. */
const BARE_NAME = /^[A-Za-z][\w.-]{0,63}$/

const BALLETS_TOOLS: ReadonlySet<string> = new Set(
  McpCall.options.map(({ shape }) => shape.tool.value),
)

/**
 * Whether a call of this kind can be one of a tool that Ballet serves. The agent's own tools have the other kinds, and
 * are often titled with nothing but the command or the path, which may read like a tool of Ballet's.
 */
export function maybeBallets(kind: string | null | undefined): boolean {
  return KINDS[kind ?? ''] === undefined
}

/**
 * The name of a call. The protocol's own field for it is young: agents that do not fill it often begin with the name as
 * title.
 */
export function nameOf(
  update: Pick<ToolCallUpdate, 'name' | 'title' | 'kind'>,
  servers: readonly string[],
): CallName {
  const said = update.name ?? update.title ?? ''
  const given = maybeBallets(update.kind) ? servers : []
  const found = given.flatMap((server) => {
    const tool = mcpTool(said, server)
    return tool === null ? [] : { server, tool }
  })[0]
  if (found !== undefined) {
    // A slash may be the one of a path.
    const isBallets = BALLETS_TOOLS.has(found.tool) && !said.includes('/')
    return { name: `mcp__${found.server}__${found.tool}`, isMcp: true, isBallets }
  }
  if (BARE_NAME.test(said)) {
    return { name: said, isMcp: said.startsWith('mcp__'), isBallets: false }
  }
  return { name: update.kind ?? 'other', isMcp: false, isBallets: false }
}

/** Agents write a tool of a server as `server_tool`, `mcp__server__tool`, `server: tool` or `tool (server MCP Server)`, with its arguments after it. */
function mcpTool(said: string, server: string): string | null {
  const name = server.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const before = new RegExp(`^(?:mcp[_:-]+)?${name}(?:__|[_:./-])\\s*([\\w-]+)$`).exec(said)?.[1]
  const after = new RegExp(`^([\\w-]+) \\(${name} MCP Server\\)(?:: \\{.*\\})?$`, 's').exec(
    said,
  )?.[1]
  return before ?? after ?? null
}

export function toolKindOf(kind: string | null | undefined, isMcp: boolean): ToolKind {
  return isMcp ? 'mcp' : (KINDS[kind ?? ''] ?? 'other')
}

/** Arguments that say what a call does, the most telling first. */
const TELLING = ['command', 'filePath', 'filepath', 'file_path', 'path', 'pattern', 'query', 'url']

/** One line that says what a call does; paths inside the workspace are shown from its root. */
export function callTitle(
  call: { name: string; isMcp: boolean; title: string | null; input: unknown; path: string | null },
  cwd: string,
): string {
  if (call.isMcp) {
    const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(call.name) ?? []
    if (tool !== undefined) return `${server}: ${tool.replaceAll('_', ' ')}`
  }
  const todos = readTodos(call.input)
  if (todos !== null) return `${todos.length} todos`
  const said = call.title?.trim() ?? ''
  if (said !== '' && said !== call.name) return oneLine(shownPath(said, cwd))
  const fields = asRecord(call.input)
  const telling = TELLING.map((field) => fields[field]).find((value) => typeof value === 'string')
  const text = typeof telling === 'string' && telling.trim() !== '' ? telling : call.path
  return oneLine(text === null ? call.name : shownPath(text, cwd))
}

const TODO_STATES: Readonly<Record<string, TodoItem['status']>> = {
  in_progress: 'active',
  completed: 'done',
}

export function todoOf(entry: { content: string; status?: string | null }): TodoItem {
  return { text: entry.content, status: TODO_STATES[entry.status ?? ''] ?? 'pending' }
}

/** The list of a call that keeps one, for agents that tell no plan; null for every other call. */
export function readTodos(input: unknown): TodoItem[] | null {
  const { todos } = asRecord(input)
  if (!Array.isArray(todos)) return null
  return todos.flatMap((entry: unknown) => {
    const { content, status } = asRecord(entry)
    if (typeof content !== 'string') return []
    return todoOf({ content, status: typeof status === 'string' ? status : null })
  })
}

/** The exit code that the raw output of a command tells; null where it tells none. */
export function exitCodeOf(rawOutput: unknown): number | null {
  const fields = asRecord(rawOutput)
  for (const place of [fields, asRecord(fields.metadata)]) {
    for (const field of ['exitCode', 'exit_code', 'exit']) {
      const value = place[field]
      if (typeof value === 'number') return value
    }
  }
  return null
}

/** The text of a raw output, for calls without content. */
export function rawText(rawOutput: unknown): string {
  if (typeof rawOutput === 'string') return rawOutput
  const { output, error } = asRecord(rawOutput)
  const text = output ?? error
  return typeof text === 'string' ? text : ''
}
