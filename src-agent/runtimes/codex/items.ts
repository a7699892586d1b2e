import type { z } from 'zod'
import type { ToolKind } from '../../../src-shared/records.ts'
import type { FileDiff, ToolStatus } from '../../../src-shared/timeline.ts'
import { asRecord } from '../as-record.ts'
import { oneLine } from '../cut-text.ts'
import { shownPath } from '../shown-path.ts'
import {
  AgentMessage,
  CommandExecution,
  FileChange,
  type Item,
  McpToolCall,
  Reasoning,
} from './protocol.ts'

/** An item as the timeline knows it. */
export type Seen =
  | { kind: 'text'; block: 'assistant.text' | 'assistant.thinking'; text: string }
  | { kind: 'call'; call: Call; result: Result | null }
  | { kind: 'user' }
  | { kind: 'compaction' }
  /** Of a kind that tells nothing which the timeline shows. */
  | { kind: 'silent' }
  | { kind: 'unknown' }

export type Call = { name: string; toolKind: ToolKind; title: string; input: unknown }

export type Result = {
  status: ToolStatus
  output: string
  diff?: FileDiff[]
  durationMs?: number
}

const SILENT = new Set([
  'hookPrompt',
  'plan',
  'functionCallOutput',
  'enteredReviewMode',
  'exitedReviewMode',
  'sleep',
])

/** Reads an item. `cwd`: paths inside are shown from there. */
export function readItem(item: Item, cwd: string): Seen {
  switch (item.type) {
    case 'userMessage':
      return { kind: 'user' }
    case 'agentMessage':
      return text('assistant.text', AgentMessage.safeParse(item).data?.text)
    case 'reasoning':
      return text('assistant.thinking', reasoningText(item))
    case 'commandExecution':
      return command(item, cwd)
    case 'fileChange':
      return fileChange(item, cwd)
    case 'mcpToolCall':
      return mcpCall(item)
    case 'contextCompaction':
      return { kind: 'compaction' }
    default:
      if (SILENT.has(item.type)) return { kind: 'silent' }
      return otherCall(item)
  }
}

export function reasoningText(item: Item): string | undefined {
  const read = Reasoning.safeParse(item).data
  if (read === undefined) return undefined
  return (read.summary.length > 0 ? read.summary : read.content).join('\n\n')
}

function text(block: Extract<Seen, { kind: 'text' }>['block'], value: string | undefined): Seen {
  return value === undefined ? { kind: 'unknown' } : { kind: 'text', block, text: value }
}

function command(item: Item, cwd: string): Seen {
  const read = CommandExecution.safeParse(item).data
  if (read === undefined) return { kind: 'unknown' }
  const shown = plainCommand(read.command)
  const folder = read.cwd === null || read.cwd === undefined ? cwd : read.cwd
  return {
    kind: 'call',
    call: {
      name: 'shell',
      toolKind: commandKind(read.commandActions ?? []),
      title: oneLine(readTitle(read.commandActions ?? [], cwd) ?? shown),
      input: { command: shown, ...(folder === cwd ? {} : { cwd: folder }) },
    },
    result: settled(read.status, {
      output: commandOutput(read),
      ...duration(read.durationMs),
    }),
  }
}

/** What the model asked for, without the shell that Codex runs it in. */
export function plainCommand(whole: string): string {
  const inner = /^\S*\/?(?:ba|z|da)?sh -l?c (.+)$/su.exec(whole)?.[1]
  if (inner === undefined) return whole
  // As a shell quotes: 'it'\''s'. Anything with more than one piece of another kind is shown as it is.
  const pieces = /^'((?:[^']|'\\'')*)'$/su.exec(inner)?.[1]
  if (pieces !== undefined) return pieces.replaceAll(`'\\''`, "'")
  const quoted = /^"((?:[^"\\]|\\.)*)"$/su.exec(inner)?.[1]
  if (quoted !== undefined) return quoted.replaceAll(/\\(["\\$`])/gu, '$1')
  return /^[\w./=-]+$/u.test(inner) ? inner : whole
}

const ACTION_KINDS: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  listFiles: 'search',
  search: 'search',
}

function commandKind(actions: readonly { type: string }[]): ToolKind {
  const [first, ...rest] = actions.map(({ type }) => ACTION_KINDS[type] ?? 'execute')
  return first !== undefined && rest.every((kind) => kind === first) ? first : 'execute'
}

/** The files that a command does nothing but read; null for another one. */
function readTitle(
  actions: readonly { type: string; path?: unknown }[],
  cwd: string,
): string | null {
  const paths = actions.flatMap(({ type, path }) =>
    type === 'read' && typeof path === 'string' ? [shownPath(path, cwd)] : [],
  )
  return paths.length > 0 && paths.length === actions.length ? paths.join(', ') : null
}

function commandOutput({ aggregatedOutput, exitCode }: z.infer<typeof CommandExecution>): string {
  const output = aggregatedOutput ?? ''
  if (exitCode === null || exitCode === undefined || exitCode === 0) return output
  return `${output}${output === '' || output.endsWith('\n') ? '' : '\n'}[exit code ${exitCode}]`
}

function fileChange(item: Item, cwd: string): Seen {
  const read = FileChange.safeParse(item).data
  if (read === undefined) return { kind: 'unknown' }
  const paths = read.changes.map((change) => shownWay(change, cwd))
  const diff = read.changes.map((change) => fileDiff(change, cwd))
  const lines = read.changes.map(({ kind }, index) => `${kind.type} ${paths[index]}`)
  return {
    kind: 'call',
    call: {
      name: 'apply_patch',
      toolKind: 'edit',
      title: oneLine(paths.join(', ')),
      input: {
        changes: read.changes.map((change, index) => ({
          path: paths[index],
          kind: change.kind.type,
          diff: change.diff,
        })),
      },
    },
    result: settled(read.status, { output: lines.join('\n'), diff }),
  }
}

/** Where a change moves its file to; null for one that leaves it where it is. */
export function destinationOf({ kind }: FileChange['changes'][number]): string | null {
  return kind.move_path ?? kind.movePath ?? null
}

/** The file of a change, and where it goes to: `a.txt → b.txt`. */
function shownWay(change: FileChange['changes'][number], cwd: string): string {
  const destination = destinationOf(change)
  const path = shownPath(change.path, cwd)
  return destination === null ? path : `${path} → ${shownPath(destination, cwd)}`
}

/** Bytes of a patch that an event holds at most; its counts are always whole. */
const PATCH_LIMIT = 64 * 1_024

function fileDiff(change: FileChange['changes'][number], cwd: string): FileDiff {
  const lines = patchLines(change)
  let size = 0
  const fitting = lines.filter((line) => {
    size += line.length + 1
    return size <= PATCH_LIMIT
  })
  return {
    path: shownWay(change, cwd),
    patch: fitting.join('\n'),
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
  }
}

/** Of a new file and of one that is removed the text is given, of a changed one the hunks. */
function patchLines({ kind, diff }: FileChange['changes'][number]): string[] {
  const lines = diff === '' ? [] : diff.replace(/\n$/u, '').split('\n')
  if (kind.type === 'add')
    return [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((each) => `+${each}`)]
  if (kind.type === 'delete')
    return [`@@ -1,${lines.length} +0,0 @@`, ...lines.map((each) => `-${each}`)]
  const first = lines.findIndex((line) => line.startsWith('@@'))
  return lines.slice(Math.max(0, first)).filter((line) => /^[ +\-@]/u.test(line))
}

function mcpCall(item: Item): Seen {
  const read = McpToolCall.safeParse(item).data
  if (read === undefined) return { kind: 'unknown' }
  const output =
    read.error === null || read.error === undefined
      ? (read.result?.content ?? []).map(partText).join('\n')
      : read.error.message
  const shown = `${read.server}: ${read.tool.replaceAll('_', ' ')}`
  const said = Object.values(asRecord(read.arguments)).find((value) => typeof value === 'string')
  return {
    kind: 'call',
    call: {
      name: `mcp__${read.server}__${read.tool}`,
      toolKind: 'mcp',
      title: oneLine(typeof said === 'string' ? `${shown}: ${said}` : shown),
      input: read.arguments ?? {},
    },
    result: settled(read.status, { output, ...duration(read.durationMs) }),
  }
}

function partText(part: unknown): string {
  const { type, text: value } = asRecord(part)
  return type === 'text' && typeof value === 'string' ? value : JSON.stringify(part)
}

const OTHER_KINDS: Readonly<Record<string, ToolKind>> = {
  webSearch: 'fetch',
  imageView: 'read',
  imageGeneration: 'other',
  dynamicToolCall: 'other',
  collabAgentToolCall: 'agent',
  subAgentActivity: 'agent',
}

/** Tools whose items are shown with their facts as they are. */
function otherCall(item: Item): Seen {
  const toolKind = OTHER_KINDS[item.type]
  if (toolKind === undefined) return { kind: 'unknown' }
  const { type, id: _id, status, startedAtMs: _started, completedAtMs: _ended, ...facts } = item
  const said = [facts.query, facts.path, facts.prompt, facts.tool].find(
    (value) => typeof value === 'string' && value !== '',
  )
  return {
    kind: 'call',
    call: {
      name: type,
      toolKind,
      title: oneLine(typeof said === 'string' ? said : type),
      input: facts,
    },
    result: settled(typeof status === 'string' ? status : 'completed', { output: '' }),
  }
}

const STATES: Readonly<Record<string, ToolStatus>> = {
  completed: 'ok',
  failed: 'error',
  declined: 'cancelled',
}

/** Null while the call runs. */
function settled(status: string, result: Omit<Result, 'status'>): Result | null {
  if (status === 'inProgress') return null
  return { status: STATES[status] ?? 'unknown', ...result }
}

function duration(value: number | null | undefined): { durationMs?: number } {
  return typeof value === 'number' ? { durationMs: Math.max(0, value) } : {}
}
