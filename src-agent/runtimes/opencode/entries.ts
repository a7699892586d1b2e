import type { BlobId, Instant } from '../../../src-shared/ids.ts'
import type { ToolStatus } from '../../../src-shared/timeline.ts'
import { type CutText, cutText } from '../cut-text.ts'
import type { DriverEvent, DriverSignal } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { readDiff, readTodos, shownName, toolKindOf, toolTitle } from './tools.ts'
import type { Part } from './wire.ts'

export type BlockKind = 'assistant.text' | 'assistant.thinking'
type Level = 'info' | 'warning' | 'error'

/** Makes events of the parts of messages, the same ones from the server's events and from its record. */
export class EntryMaker {
  readonly #cwd: string
  readonly #mask: SecretMask
  readonly #servers: readonly string[]

  constructor(cwd: string, mask: SecretMask, servers: readonly string[]) {
    this.#cwd = cwd
    this.#mask = mask
    this.#servers = servers
  }

  /** Without a ref: the record does not hold it like this. */
  block(
    at: Instant,
    whole: string,
    fields: {
      kind: BlockKind
      part: string
      partial: boolean
      ref?: string
      parent: string | undefined
    },
  ): DriverSignal {
    const { text, blob } = cutText(this.#mask.mask(whole))
    return signal(
      at,
      {
        kind: fields.kind,
        text,
        block: fields.part,
        ...(blob === undefined ? {} : { textBlob: blob.id }),
        ...(fields.partial ? { partial: true } : {}),
        ...owner(fields.parent),
        ...(fields.ref === undefined ? {} : { ref: fields.ref }),
      },
      blob,
    )
  }

  call(at: Instant, part: Part, parent: string | undefined): DriverSignal[] {
    const { callId, name, input } = this.callOf(part)
    const shown = cutText(this.#mask.mask(JSON.stringify(input)))
    const call = signal(
      at,
      {
        ...{ kind: 'tool.call', callId, name, toolKind: toolKindOf(name) },
        title: this.#mask.mask(toolTitle(name, input, this.#cwd)),
        input: shown.text,
        ...(shown.blob === undefined ? {} : { inputBlob: shown.blob.id }),
        ...owner(parent),
        ref: part.id,
      },
      shown.blob,
    )
    const items = readTodos(name, input)
    if (items === null) return [call]
    const masked = items.map((item) => ({ ...item, text: this.#mask.mask(item.text) }))
    return [
      call,
      signal(at, { kind: 'todo', items: masked, ...owner(parent), ref: `${part.id}:todo` }),
    ]
  }

  callOf(part: Part): { callId: string; name: string; input: unknown } {
    return {
      callId: part.callID ?? part.id,
      name: shownName(part.tool ?? 'tool', this.#servers),
      input: part.state?.input ?? {},
    }
  }

  /** `status` where the record does not tell it. */
  result(at: Instant, part: Part, parent: string | undefined, status?: ToolStatus): DriverSignal {
    const { callId, name, input } = this.callOf(part)
    const { state } = part
    const known = status ?? resultStatus(part)
    const whole = this.#mask.mask(outputOf(part))
    const { text, blob } = cutText(whole)
    const diff = known === 'ok' ? readDiff(name, input, state?.metadata, this.#cwd) : null
    const { start, end } = state?.time ?? {}
    return signal(
      at,
      {
        ...{ kind: 'tool.result', callId, status: known, output: text },
        outputBytes: Buffer.byteLength(whole),
        ...(blob === undefined ? {} : { outputBlob: blob.id }),
        ...(diff === null
          ? {}
          : { diff: diff.map((file) => ({ ...file, patch: this.#mask.mask(file.patch) })) }),
        ...(start === undefined || end === undefined
          ? {}
          : { durationMs: Math.max(0, end - start) }),
        ...owner(parent),
        ...(isOver(part) ? { ref: `${part.id}:result` } : {}),
      },
      blob,
    )
  }

  notice(at: Instant, level: Level, code: string, whole: string, parent?: string): DriverSignal {
    const { text, blob } = cutText(this.#mask.mask(whole))
    const cut = blob === undefined ? {} : { textBlob: blob.id }
    return signal(at, { kind: 'notice', level, code, text, ...cut, ...owner(parent) }, blob)
  }

  /** What a person is asked: the call's title and its arguments. */
  request(
    name: string,
    input: unknown,
  ): { title: string; input: string; inputBlob?: BlobId; blob?: CutText['blob'] } {
    const { text, blob } = cutText(this.#mask.mask(JSON.stringify(input ?? {})))
    return {
      title: this.#mask.mask(toolTitle(name, input, this.#cwd)),
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

/** The kind of block that a part is; null for other parts. */
export function blockKindOf(part: Part): BlockKind | null {
  if (part.type === 'text') return part.synthetic === true ? null : 'assistant.text'
  return part.type === 'reasoning' ? 'assistant.thinking' : null
}

/** The call has ended, one way or the other. */
export function isOver(part: Part): boolean {
  return part.state?.status === 'completed' || part.state?.status === 'error'
}

/** Stopped by a person: the turn was interrupted, or the call was not allowed. */
const CUT = /^(?:Tool execution aborted|The user rejected permission)/
const ABORTED = /User aborted the command\s*<\/shell_metadata>\s*$/

function resultStatus(part: Part): ToolStatus {
  const { state } = part
  if (state?.status === 'error') {
    const isCut = state.metadata?.interrupted === true || CUT.test(state.error ?? '')
    return isCut ? 'cancelled' : 'error'
  }
  if (state?.status !== 'completed') return 'unknown'
  if (ABORTED.test(state.output ?? '')) return 'cancelled'
  const exit = state.metadata?.exit
  return typeof exit === 'number' && exit !== 0 ? 'error' : 'ok'
}

function outputOf({ state }: Part): string {
  if (state === undefined) return ''
  const text =
    state.status === 'error' ? (state.error ?? '') : (state.output ?? runningOutput(state))
  const files = (state.attachments ?? []).map(({ mime }) => `[file ${mime ?? ''}]`)
  return [text, ...files].filter((each) => each !== '').join('\n')
}

function runningOutput(state: NonNullable<Part['state']>): string {
  const output = state.metadata?.output
  return typeof output === 'string' ? output : ''
}

function owner(parent: string | undefined): { parent?: string } {
  return parent === undefined ? {} : { parent }
}
