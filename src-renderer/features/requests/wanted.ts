import type { ToolKind } from '../../../src-shared/records.ts'

/** What a runtime asks to do, as the event and the record of a request both tell it. */
export type Asking = {
  id: string
  name: string
  toolKind: ToolKind
  title: string
  input: string
  inputBlob: string | undefined
}

/** What a person reads before they allow it. */
export type Wanted =
  | { shows: 'command'; command: string; note: string | undefined }
  | { shows: 'change'; path: string; patch: string; added: number; removed: number }
  | { shows: 'arguments'; text: string }

const asks: Record<ToolKind, string> = {
  execute: 'Asks to run a command',
  edit: 'Asks to change a file',
  read: 'Asks to read',
  search: 'Asks to search',
  fetch: 'Asks to fetch from the network',
  mcp: 'Asks to use a tool',
  agent: 'Asks to start a subagent',
  other: 'Asks to use a tool',
}

export const askingWord = (kind: ToolKind): string => asks[kind]

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? { ...value }
      : undefined
  } catch {
    // Cut at the inline limit, or no JSON: it is shown as it came.
    return undefined
  }
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

/** Lines around a change that are shown with it. */
const AROUND = 3

/** One hunk from one text to another: what they have in common at both ends is only shown beside the change. */
export function changeOf(
  before: string,
  after: string,
): Omit<Wanted & { shows: 'change' }, 'shows' | 'path'> {
  const old = linesOf(before)
  const now = linesOf(after)
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1
  let tail = 0
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) {
    tail += 1
  }
  const removed = old.slice(head, old.length - tail)
  const added = now.slice(head, now.length - tail)
  const marked = (sign: string, lines: readonly string[]) => lines.map((line) => sign + line)
  const patch = [
    ...marked(' ', old.slice(Math.max(0, head - AROUND), head)),
    ...marked('-', removed),
    ...marked('+', added),
    ...marked(' ', old.slice(old.length - tail).slice(0, AROUND)),
  ].join('\n')
  return { patch, added: added.length, removed: removed.length }
}

const pathNames = ['file_path', 'filePath', 'path', 'notebook_path']
const beforeNames = ['old_string', 'oldString', 'old_text']
const afterNames = ['new_string', 'newString', 'new_text', 'content', 'new_source']

function textOf(given: Record<string, unknown>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = given[name]
    if (typeof value === 'string') return value
  }
  return undefined
}

/** The arguments a line each, texts as they are; what is no JSON object as it came. */
export function readableArguments(input: string): string {
  const given = objectOf(input)
  return given === undefined ? input : argumentsOf(given)
}

function argumentsOf(given: Record<string, unknown>): string {
  return Object.entries(given)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
}

/** The arguments of a call in the form in which they are read best. */
export function wantedOf({ toolKind, title, input }: Asking): Wanted {
  const given = objectOf(input)
  if (toolKind === 'execute') {
    const command = given === undefined ? undefined : textOf(given, ['command', 'cmd', 'script'])
    const note = given === undefined ? undefined : textOf(given, ['description'])
    if (command !== undefined) return { shows: 'command', command, note }
  }
  if (given === undefined) return { shows: 'arguments', text: input === '' ? title : input }
  if (toolKind === 'edit') {
    const after = textOf(given, afterNames)
    if (after !== undefined) {
      const path = textOf(given, pathNames) ?? title
      return { shows: 'change', path, ...changeOf(textOf(given, beforeNames) ?? '', after) }
    }
  }
  const text = argumentsOf(given)
  return { shows: 'arguments', text: text === '' ? title : text }
}
