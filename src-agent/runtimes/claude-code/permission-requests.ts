import type { RequestId } from '../../../src-shared/ids.ts'
import { BalletError } from '../../../src-shared/refusal.ts'
import type { ControlRequestLine } from './lines.ts'
import { toolKindOf } from './tools.ts'

export type Answer = { outcome: 'allow' | 'allow-for-session' | 'deny'; text?: string }

type Open = {
  id: RequestId
  runtimeId: string
  toolName: string
  title: string
  input: unknown
  suggestions: readonly Readonly<Record<string, unknown>>[]
}

/** The permission prompts that the runtime waits for. */
export class PermissionRequests {
  readonly #open = new Map<RequestId, Open>()

  add(id: RequestId, line: ControlRequestLine, title: string): void {
    this.#open.set(id, {
      id,
      runtimeId: line.request_id,
      toolName: line.request.tool_name ?? '',
      title,
      input: line.request.input ?? {},
      suggestions: line.request.permission_suggestions ?? [],
    })
  }

  /** The runtime does not wait for this one any more. */
  withdraw(runtimeId: string): Open | null {
    const open = [...this.#open.values()].find((candidate) => candidate.runtimeId === runtimeId)
    if (open !== undefined) this.#open.delete(open.id)
    return open ?? null
  }

  /** What to write for an answer; the request is closed by it. Throws `request.gone` for one that is not open. */
  answer(id: RequestId, answer: Answer): Readonly<Record<string, unknown>> {
    const open = this.#open.get(id)
    if (open === undefined) {
      throw new BalletError({
        code: 'request.gone',
        message: 'The runtime does not wait for this answer any more.',
        hint: 'Look at the timeline: the request was answered or withdrawn.',
      })
    }
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

function responseTo(open: Open, answer: Answer): Readonly<Record<string, unknown>> {
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
        updatedPermissions: sessionRules(open),
      }
  }
}

/** The runtime's own suggestions, kept out of the files that it would otherwise write into the workspace. */
function sessionRules(open: Open): Readonly<Record<string, unknown>>[] {
  if (open.suggestions.length > 0) {
    return open.suggestions.map((suggestion) => ({ ...suggestion, destination: 'session' }))
  }
  // Without a suggestion a whole tool would be allowed: too much for one that runs commands.
  if (toolKindOf(open.toolName) === 'execute') return []
  return [
    {
      type: 'addRules',
      rules: [{ toolName: open.toolName }],
      behavior: 'allow',
      destination: 'session',
    },
  ]
}
