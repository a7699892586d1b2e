import type { BlobId, Instant } from '../../../src-shared/ids.ts'
import type { ToolStatus } from '../../../src-shared/timeline.ts'
import { type CutText, cutText } from '../cut-text.ts'
import type { DriverEvent, DriverSignal } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import type { Call, Result } from './items.ts'

export type Notice = Extract<DriverEvent, { kind: 'notice' }>

/** Makes events of items, the same ones from what the server tells and from its record; secrets are masked. */
export class EntryMaker {
  readonly #mask: SecretMask

  constructor(mask: SecretMask) {
    this.#mask = mask
  }

  /** Null for a block without text. */
  block(
    at: Instant,
    kind: 'assistant.text' | 'assistant.thinking',
    whole: string,
    fields: { block: string; ref?: string; partial?: true },
  ): DriverSignal | null {
    if (whole.trim() === '') return null
    const { text, blob } = cutText(this.#mask.mask(whole))
    const cut = blob === undefined ? {} : { textBlob: blob.id }
    return signal(at, { kind, text, ...cut, ...fields }, blob)
  }

  call(at: Instant, callId: string, call: Call): DriverSignal {
    const { blob, ...input } = this.input(call.input)
    const { name, toolKind } = call
    const title = this.#mask.mask(call.title)
    return signal(
      at,
      { kind: 'tool.call', callId, name, toolKind, title, ...input, ref: callId },
      blob,
    )
  }

  result(at: Instant, callId: string, result: Result): DriverSignal {
    const whole = this.#mask.mask(result.output)
    const { text, blob } = cutText(whole)
    const { status, diff, durationMs } = result
    return signal(
      at,
      {
        kind: 'tool.result',
        callId,
        status,
        output: text,
        outputBytes: Buffer.byteLength(whole),
        ref: resultRef(callId),
        ...(blob === undefined ? {} : { outputBlob: blob.id }),
        ...(diff === undefined || status !== 'ok'
          ? {}
          : { diff: diff.map((file) => ({ ...file, patch: this.#mask.mask(file.patch) })) }),
        ...(durationMs === undefined ? {} : { durationMs }),
      },
      blob,
    )
  }

  /** A call that got no result. */
  unsettled(at: Instant, callId: string, status: ToolStatus, output: string): DriverSignal {
    return this.result(at, callId, { status, output })
  }

  notice(at: Instant, level: Notice['level'], code: string, message: string): DriverSignal {
    const { text, blob } = cutText(this.#mask.mask(message))
    const cut = blob === undefined ? {} : { textBlob: blob.id }
    return signal(at, { kind: 'notice', level, code, text, ...cut }, blob)
  }

  /** The arguments of a call as JSON. */
  input(value: unknown): { input: string; inputBlob?: BlobId; blob?: CutText['blob'] } {
    const { text, blob } = cutText(this.#mask.mask(JSON.stringify(value ?? {})))
    return { input: text, ...(blob === undefined ? {} : { inputBlob: blob.id, blob }) }
  }

  mask(text: string): string {
    return this.#mask.mask(text)
  }
}

/** The name of a call's result; the call itself has the item's own. */
export function resultRef(callId: string): string {
  return `${callId}:result`
}

export function signal(at: Instant, event: DriverEvent, blob?: CutText['blob']): DriverSignal {
  return { type: 'event', at, event, ...(blob === undefined ? {} : { blobs: [blob] }) }
}
