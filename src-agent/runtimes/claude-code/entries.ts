import type { BlobId, Instant } from '../../../src-shared/ids.ts'
import { type CutText, cutText } from '../cut-text.ts'
import type { DriverEvent, DriverSignal } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import type { AssistantLine, ContentBlock, UserLine } from './lines.ts'
import type { BlockKind } from './live-blocks.ts'
import { readDiff, readTodos, resultText, toolKindOf, toolTitle } from './tools.ts'

/** Makes events of the blocks of a message, the same ones from the runtime's output and from its transcript. */
export class EntryMaker {
  readonly #cwd: string
  readonly #mask: SecretMask

  constructor(cwd: string, mask: SecretMask) {
    this.#cwd = cwd
    this.#mask = mask
  }

  block(
    at: Instant,
    whole: string,
    fields: {
      kind: BlockKind
      block: string
      partial: boolean
      parent: string | undefined
      ref: string | undefined
    },
  ): DriverSignal {
    const { text, blob } = cutText(this.#mask.mask(whole))
    return signal(
      at,
      {
        kind: fields.kind,
        text,
        block: fields.block,
        ...(blob === undefined ? {} : { textBlob: blob.id }),
        ...(fields.partial ? { partial: true } : {}),
        ...owner(fields.parent),
        ...name(fields.ref),
      },
      blob,
    )
  }

  call(
    at: Instant,
    block: ContentBlock & { id: string; name: string },
    parent: string | undefined,
    ref: string | undefined,
  ): DriverSignal[] {
    const input = cutText(this.#mask.mask(JSON.stringify(block.input ?? {})))
    const call = signal(
      at,
      {
        kind: 'tool.call',
        callId: block.id,
        name: block.name,
        toolKind: toolKindOf(block.name),
        title: this.#mask.mask(toolTitle(block.name, block.input, this.#cwd)),
        input: input.text,
        ...(input.blob === undefined ? {} : { inputBlob: input.blob.id }),
        ...owner(parent),
        ...name(ref),
      },
      input.blob,
    )
    const items = readTodos(block.name, block.input)
    if (items === null) return [call]
    const masked = items.map((item) => ({ ...item, text: this.#mask.mask(item.text) }))
    const todoRef = ref === undefined ? undefined : `${ref}:todo`
    return [call, signal(at, { kind: 'todo', items: masked, ...owner(parent), ...name(todoRef) })]
  }

  result(
    at: Instant,
    block: ContentBlock & { tool_use_id: string },
    fields: {
      status: 'ok' | 'error' | 'cancelled' | 'unknown'
      structured: unknown
      durationMs: number | undefined
      parent: string | undefined
      ref: string | undefined
    },
  ): DriverSignal {
    const whole = this.#mask.mask(resultText(block.content))
    const { text, blob } = cutText(whole)
    const diff = fields.status === 'ok' ? readDiff(fields.structured, this.#cwd) : null
    return signal(
      at,
      {
        kind: 'tool.result',
        callId: block.tool_use_id,
        status: fields.status,
        output: text,
        outputBytes: Buffer.byteLength(whole),
        ...(blob === undefined ? {} : { outputBlob: blob.id }),
        ...(diff === null
          ? {}
          : { diff: diff.map((file) => ({ ...file, patch: this.#mask.mask(file.patch) })) }),
        ...(fields.durationMs === undefined ? {} : { durationMs: fields.durationMs }),
        ...owner(fields.parent),
        ...name(fields.ref),
      },
      blob,
    )
  }

  notice(
    at: Instant,
    notice: Extract<DriverEvent, { kind: 'notice' }>,
    parent?: string | undefined,
  ): DriverSignal {
    const { text, blob } = cutText(this.#mask.mask(notice.text))
    const cut = blob === undefined ? {} : { textBlob: blob.id }
    return signal(at, { ...notice, text, ...cut, ...owner(parent) }, blob)
  }

  /** What a person is asked: the call's title and its arguments. */
  request(
    toolName: string,
    input: unknown,
  ): { title: string; input: string; inputBlob?: BlobId; blob?: CutText['blob'] } {
    const { text, blob } = cutText(this.#mask.mask(JSON.stringify(input ?? {})))
    return {
      title: this.#mask.mask(toolTitle(toolName, input, this.#cwd)),
      input: text,
      ...(blob === undefined ? {} : { inputBlob: blob.id, blob }),
    }
  }

  mask(text: string): string {
    return this.#mask.mask(text)
  }
}

export function signal(at: Instant, event: DriverEvent, blob?: CutText['blob']): DriverSignal {
  return { type: 'event', at, event, ...(blob === undefined ? {} : { blobs: [blob] }) }
}

/** The runtime's own name of the block at this place of a line; transcript and output agree on it. */
export function refOf(line: { uuid?: string | undefined }, index: number): string | undefined {
  if (line.uuid === undefined) return undefined
  return index === 0 ? line.uuid : `${line.uuid}:${index}`
}

export function parentOf(line: AssistantLine | UserLine): string | undefined {
  return line.parent_tool_use_id ?? undefined
}

export function isCall(block: ContentBlock): block is ContentBlock & { id: string; name: string } {
  return block.type.endsWith('tool_use') && block.id !== undefined && block.name !== undefined
}

export function isResult(block: ContentBlock): block is ContentBlock & { tool_use_id: string } {
  return block.type.endsWith('tool_result') && block.tool_use_id !== undefined
}

/** The text that a block shows; null for blocks without text. */
export function shownText(block: ContentBlock): { kind: BlockKind; text: string } | null {
  if (block.type === 'text' && block.text !== undefined) {
    return block.text.trim() === '' ? null : { kind: 'assistant.text', text: block.text }
  }
  if (block.type === 'thinking' && block.thinking !== undefined) {
    return block.thinking.trim() === ''
      ? null
      : { kind: 'assistant.thinking', text: block.thinking }
  }
  return null
}

const REJECTED = /^The user doesn't want to (?:proceed with|take) this/
const UNKNOWN_OUTCOME = /^\[Tool call interrupted: the session ended/

/** How a call ended. `rejected` says that the runtime's own record calls it stopped by a person. */
export function resultStatus(
  block: ContentBlock,
  rejected: boolean,
): 'ok' | 'error' | 'cancelled' | 'unknown' {
  const text = typeof block.content === 'string' ? block.content : ''
  if (UNKNOWN_OUTCOME.test(text)) return 'unknown'
  if (block.is_error !== true) return 'ok'
  return rejected || REJECTED.test(text) ? 'cancelled' : 'error'
}

function owner(parent: string | undefined): { parent?: string } {
  return parent === undefined ? {} : { parent }
}

function name(ref: string | undefined): { ref?: string } {
  return ref === undefined ? {} : { ref }
}
