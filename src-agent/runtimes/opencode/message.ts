import type { Delivery } from '../../../src-shared/agent-wire.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import { DELIVERY_FIELD } from './handed-over.ts'

export type Model = { providerID: string; modelID: string }

/** A message as the server takes it, with the delivery's id beside its text. */
export function promptBody(delivery: Delivery, model: Model | null): Record<string, unknown> {
  const text = [delivery.preface ?? '', delivery.text].filter((part) => part !== '').join('\n\n')
  return {
    ...(model === null ? {} : { model }),
    parts: [
      // Always there: a file has no place for the id.
      { type: 'text', text, metadata: { [DELIVERY_FIELD]: delivery.id } },
      ...(delivery.images ?? []).map(({ mediaType, data }, index) => ({
        type: 'file',
        mime: mediaType,
        filename: `image-${index + 1}.${mediaType.slice('image/'.length)}`,
        url: `data:${mediaType};base64,${data}`,
      })),
    ],
  }
}

/** `provider/model`, as opencode names models; throws `runtime.model` for anything else. */
export function modelOf(name: string | null): Model | null {
  if (name === null) return null
  const at = name.indexOf('/')
  if (at < 1 || at === name.length - 1) {
    throw new BalletError({
      code: 'runtime.model',
      message: `${JSON.stringify(name)} is no model of opencode: it names them as provider/model.`,
      hint: 'Choose the model in the project so, such as `anthropic/claude-sonnet-4-5`: `opencode models` lists them.',
    })
  }
  return { providerID: name.slice(0, at), modelID: name.slice(at + 1) }
}
