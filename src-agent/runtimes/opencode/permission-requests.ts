import type { RequestFacts } from '../../../src-shared/agent-wire.ts'
import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import type { DriverSignal, RequestAnswer } from '../driver.ts'
import { requestGone } from '../failures.ts'
import type { Normalizer } from './normalize.ts'
import { requestFacts } from './permission-rules.ts'
import { toolKindOf } from './tools.ts'
import type { PermissionPrompt } from './wire.ts'

export type Open = { id: RequestId; runtimeId: string; rules: RequestFacts['rules'] }
export type Reply = { reply: 'once' | 'reject'; message?: string }

/** The permission prompts that the runtime waits for. */
export class PermissionRequests {
  readonly #open = new Map<RequestId, Open>()
  /** By the runtime's ids: each is told once, however often the server lists it. */
  readonly #known = new Set<string>()

  /** False when it is known already. */
  isNew(runtimeId: string): boolean {
    if (this.#known.has(runtimeId)) return false
    this.#known.add(runtimeId)
    return true
  }

  add(open: Open): void {
    this.#open.set(open.id, open)
  }

  /** Takes out what is answered. Throws `request.gone` for one that is not open. */
  take(id: RequestId): Open {
    const open = this.#open.get(id)
    if (open === undefined) throw requestGone()
    this.#open.delete(id)
    return open
  }

  /** The runtime does not wait for this one any more; null where it was answered by us. */
  withdraw(runtimeId: string): RequestId | null {
    const open = [...this.#open.values()].find((candidate) => candidate.runtimeId === runtimeId)
    if (open !== undefined) this.#open.delete(open.id)
    return open?.id ?? null
  }

  clear(): void {
    this.#open.clear()
  }
}

/** `always` would hold for every session in the folder: Ballet keeps what is allowed for this one itself. */
export function replyTo(answer: RequestAnswer): Reply {
  if (answer.outcome !== 'deny') return { reply: 'once' }
  // Without a message the turn would end.
  return { reply: 'reject', message: answer.text ?? 'A person denied this.' }
}

/** Tells of a prompt, with what Core keeps of it. */
export function requestSignal(
  prompt: PermissionPrompt,
  { request, at, normalizer }: { request: RequestId; at: Instant; normalizer: Normalizer },
): DriverSignal & { type: 'event'; request: RequestFacts } {
  const call = normalizer.callOf(prompt.tool?.callID) ?? {
    ...{ callId: prompt.tool?.callID ?? prompt.id, name: prompt.permission },
    input: prompt.metadata,
  }
  const { blob, ...shown } = normalizer.request(call.name, call.input)
  const parent = normalizer.parentOf(prompt.sessionID)
  return {
    type: 'event',
    at,
    event: {
      ...{ kind: 'request.opened', request, callId: call.callId, name: call.name },
      toolKind: toolKindOf(call.name),
      ...shown,
      ...(parent === undefined ? {} : { parent }),
    },
    ...(blob === undefined ? {} : { blobs: [blob] }),
    request: requestFacts(prompt, call, (text) => normalizer.mask(text)),
  }
}
