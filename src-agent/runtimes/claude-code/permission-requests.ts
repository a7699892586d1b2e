import type { RequestFacts } from '../../../src-shared/agent-wire.ts'
import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import type { DriverSignal, RequestAnswer } from '../driver.ts'
import { requestGone } from '../failures.ts'
import type { SecretMask } from '../mask-secrets.ts'
import type { EntryMaker } from './entries.ts'
import type { ControlRequestLine } from './lines.ts'
import { requestFacts } from './permission-rules.ts'
import { toolKindOf } from './tools.ts'

type Open = {
  id: RequestId
  runtimeId: string
  input: unknown
  rules: RequestFacts['rules']
}

type Prompt = {
  at: Instant
  name: string
  /** The call as people see it. */
  shown: ReturnType<EntryMaker['request']>
  mask: SecretMask
}

/** The permission prompts that the runtime waits for. */
export class PermissionRequests {
  readonly #open = new Map<RequestId, Open>()

  /** Keeps a prompt for a tool and gives the signal that tells of it. */
  add(id: RequestId, line: ControlRequestLine, { at, name, shown, mask }: Prompt): DriverSignal {
    const { input = {}, permission_suggestions: suggested, tool_use_id: callId = '' } = line.request
    const facts = requestFacts(name, input, suggested ?? [], (text) => mask.mask(text))
    this.#open.set(id, { id, runtimeId: line.request_id, input, rules: facts.rules })
    const { blob, ...fields } = shown
    const toolKind = toolKindOf(name)
    return {
      type: 'event',
      at,
      event: { kind: 'request.opened', request: id, callId, name, toolKind, ...fields },
      ...(blob === undefined ? {} : { blobs: [blob] }),
      request: facts,
    }
  }

  /** The runtime does not wait for this one any more. */
  withdraw(runtimeId: string): RequestId | null {
    const open = [...this.#open.values()].find((candidate) => candidate.runtimeId === runtimeId)
    if (open !== undefined) this.#open.delete(open.id)
    return open?.id ?? null
  }

  /** What to write for an answer; the request is closed by it. Throws `request.gone` for one that is not open. */
  answer(id: RequestId, answer: RequestAnswer): Readonly<Record<string, unknown>> {
    const open = this.#open.get(id)
    if (open === undefined) throw requestGone()
    this.#open.delete(id)
    return {
      type: 'control_response',
      response: {
        subtype: 'success',
        request_id: open.runtimeId,
        response: responseTo(open, answer),
      },
    }
  }

  clear(): void {
    this.#open.clear()
  }
}

/** The answer to a control request that the driver does not serve. */
export function unsupported(line: ControlRequestLine): Readonly<Record<string, unknown>> {
  return {
    type: 'control_response',
    response: {
      subtype: 'error',
      request_id: line.request_id,
      error: `Ballet does not serve ${line.request.subtype}`,
    },
  }
}

function responseTo(open: Open, answer: RequestAnswer): Readonly<Record<string, unknown>> {
  switch (answer.outcome) {
    case 'deny':
      return { behavior: 'deny', message: answer.text ?? 'A person denied this.' }
    case 'allow':
      // Older versions refuse an answer without the input.
      return { behavior: 'allow', updatedInput: open.input }
    case 'allow-for-session':
      return {
        behavior: 'allow',
        updatedInput: open.input,
        // All are for the session: others would be written into the workspace.
        updatedPermissions: open.rules,
      }
  }
}
