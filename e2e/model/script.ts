import { z } from 'zod'

/**
 * The script of a conversation: what the model answers, step by step. One step is one answer of the
 * Messages API; the steps of a turn follow each other, since each tool result asks for the next.
 */

const failure = z.strictObject({
  /** HTTP status; 0 closes the connection without an answer. */
  status: z.number().int().min(0).max(599),
  /** `error.type` of the API; by default the one that belongs to the status. */
  type: z.string().optional(),
  message: z.string().optional(),
  /** How many attempts of this step fail this way; by default every one. */
  times: z.number().int().positive().optional(),
  headers: z.record(z.string(), z.string()).optional(),
})

const toolCall = z.strictObject({
  name: z.string().min(1),
  input: z.record(z.string(), z.unknown()).optional(),
  /** Left out where the runtime has no such tool. */
  optional: z.boolean().optional(),
})

/** `true` means every attempt, a number the first so many attempts. */
const attempts = z.union([z.boolean(), z.number().int().positive()])

const usage = z.strictObject({
  input_tokens: z.number().int().min(0).optional(),
  output_tokens: z.number().int().min(0).optional(),
  cache_read_input_tokens: z.number().int().min(0).optional(),
  cache_creation_input_tokens: z.number().int().min(0).optional(),
})

const step = z.strictObject({
  text: z.string().optional(),
  thinking: z.string().optional(),
  /** One tool call, the short form of `tools`. */
  tool: z.string().min(1).optional(),
  input: z.record(z.string(), z.unknown()).optional(),
  tools: z.array(toolCall).optional(),
  /** In how many pieces the text (and the thinking) is streamed. */
  chunks: z.number().int().positive().max(100_000).optional(),
  /** Milliseconds between two pieces. */
  delay: z.number().min(0).optional(),
  /** Milliseconds before the headers of the answer. */
  wait: z.number().min(0).optional(),
  /** The stream stops after its first piece until this name is released. */
  gate: z.string().min(1).optional(),
  fail: z.array(failure).optional(),
  /** Headers are sent, then nothing more. */
  headThenHang: attempts.optional(),
  /** The socket is cut in the middle of the stream. */
  cut: attempts.optional(),
  /** `stop_reason`; by default `tool_use` or `end_turn`. */
  stop: z.string().optional(),
  usage: usage.optional(),
  /** Further headers of the answer, such as rate limits. */
  headers: z.record(z.string(), z.string()).optional(),
})

const namedScript = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/u),
  /** Chosen too when the user's text contains this, without any `@@name@@`. */
  match: z.string().min(1).optional(),
  /** `match` looks at the prompts of planners, instead of at those of sessions. */
  planner: z.boolean().optional(),
  steps: z.array(step),
})

const scriptBook = z.strictObject({
  scripts: z.array(namedScript).optional(),
  /** The answer to a text without a script; `{{user}}` is that text. */
  fallback: step.optional(),
})

export type Step = z.infer<typeof step>
export type Failure = z.infer<typeof failure>
export type NamedScript = z.infer<typeof namedScript>
/** The scripts that a server knows by name or by a piece of the user's text. */
export type ScriptBook = z.infer<typeof scriptBook>

const steps = z.array(step)

/** Decodes a script book (as in a JSON file); throws an error that names what is wrong. */
export function parseScriptBook(value: unknown): ScriptBook {
  return scriptBook.parse(value)
}

export type FoundScript =
  | { readonly kind: 'steps'; readonly steps: readonly Step[] }
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'invalid'; readonly reason: string }

/** Whose script it is. The same text may reach a session and the planner that tries its question. */
export type Reader = 'session' | 'planner'

/**
 * The last script of the reader in a text: `@@[…]@@`, `@@b64:…@@` or `@@name@@` for a session, and
 * `@@planner:[…]@@`, `@@planner:b64:…@@` or `@@planner:name@@` for a planner. Text in which a script
 * is opened and cannot be read is `invalid`, so that a typing mistake in a test is loud.
 */
export function findScript(text: string, reader: Reader = 'session'): FoundScript | undefined {
  let found: FoundScript | undefined
  let at = text.indexOf('@@')
  while (at !== -1) {
    const here = readScriptAt(text, at)
    if (here) {
      // What stands in the other's script, such as the question that a session asks, is passed over.
      if (here.reader === reader) found = here.found
      at = text.indexOf('@@', here.end)
    } else {
      at = text.indexOf('@@', at + 2)
    }
  }
  return found
}

/** A script as text for a prompt; encoded, so that it may hold scripts for subagents. */
export function encodeScript(script: readonly Step[], reader: Reader = 'session'): string {
  const encoded = Buffer.from(JSON.stringify(script)).toString('base64')
  return `${MARKS[reader]}b64:${encoded}@@`
}

const MARKS: Readonly<Record<Reader, string>> = { session: '@@', planner: '@@planner:' }

interface ScriptAt {
  readonly reader: Reader
  readonly found: FoundScript
  readonly end: number
}

function readScriptAt(text: string, at: number): ScriptAt | undefined {
  const reader = text.startsWith(MARKS.planner, at) ? 'planner' : 'session'
  const start = at + MARKS[reader].length
  const rest = text.slice(start)
  if (rest.startsWith('[')) return { reader, ...readInline(text, start) }
  const encoded = /^b64:([A-Za-z0-9+/=\s]+)@@/u.exec(rest)
  if (encoded?.[1] !== undefined) {
    const json = Buffer.from(encoded[1], 'base64').toString('utf8')
    return { reader, found: decodeSteps(json), end: start + encoded[0].length }
  }
  const name = /^([a-z0-9][a-z0-9-]*)@@/u.exec(rest)
  if (name?.[1] !== undefined) {
    return { reader, found: { kind: 'named', name: name[1] }, end: start + name[0].length }
  }
  return undefined
}

/** `start`: of the list of steps. */
function readInline(text: string, start: number): Omit<ScriptAt, 'reader'> {
  // A string inside the script may hold the closing mark itself: the first end that parses counts.
  let first: FoundScript | undefined
  let close = text.indexOf(']@@', start)
  while (close !== -1) {
    const found = decodeSteps(text.slice(start, close + 1))
    if (found.kind === 'steps') return { found, end: close + 3 }
    first ??= found
    close = text.indexOf(']@@', close + 3)
  }
  return {
    found: first ?? { kind: 'invalid', reason: 'The script has no end: ]@@ is missing.' },
    end: start,
  }
}

function decodeSteps(json: string): FoundScript {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    return { kind: 'invalid', reason: `The script is not JSON: ${String(error)}` }
  }
  const decoded = steps.safeParse(value)
  if (decoded.success) return { kind: 'steps', steps: decoded.data }
  return {
    kind: 'invalid',
    reason: `The script has a wrong step: ${z.prettifyError(decoded.error)}`,
  }
}
