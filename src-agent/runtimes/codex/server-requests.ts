import type { Instant, RequestId } from '../../../src-shared/ids.ts'
import type { DriverSignal, DriverSpec, RequestAnswer } from '../driver.ts'
import type { AppServer, RpcId } from './app-server.ts'
import type { Normalizer } from './normalize.ts'
import { PermissionRequests, type Prompt, resultOf } from './permission-requests.ts'
import { ResolvedNews } from './protocol.ts'

export type ServerRequestsOptions = {
  server: AppServer
  spec: DriverSpec
  normalizer: Normalizer
  emit: (signals: readonly DriverSignal[]) => void
  now: () => Instant
  newRequestId: () => RequestId
}

/** The answers of a client that allows nothing more and fills in no form. */
const REFUSALS: Readonly<Record<string, unknown>> = {
  'mcpServer/elicitation/request': { action: 'decline', content: null, _meta: null },
  'item/permissions/requestApproval': { permissions: {}, scope: 'turn' },
}

/** What the server asks its client for: permissions go to a person, everything else is answered at once. */
export class ServerRequests {
  readonly #options: ServerRequestsOptions
  readonly #open: PermissionRequests

  constructor(options: ServerRequestsOptions) {
    const { spec } = options
    this.#options = options
    this.#open = new PermissionRequests(spec.cwd, spec.permission, spec.grants)
  }

  asked(rpc: RpcId, method: string, params: unknown): void {
    const prompt = this.#promptOf(method, params)
    if (prompt === null) {
      void this.#refuse(rpc, method)
      return
    }
    const { server, normalizer, newRequestId, now, emit } = this.#options
    if (this.#open.isAllowed(prompt)) {
      // One that is gone tells so by its exit.
      void server.respond(rpc, resultOf(prompt, true)).catch(() => undefined)
      return
    }
    const request = newRequestId()
    this.#open.add(request, rpc, prompt)
    const mask = (text: string) => normalizer.mask(text)
    const { blob, ...input } = normalizer.input(prompt.input)
    const { callId, name, toolKind } = prompt
    const title = mask(prompt.title)
    emit([
      {
        type: 'event',
        at: now(),
        event: { kind: 'request.opened', request, callId, name, toolKind, title, ...input },
        ...(blob === undefined ? {} : { blobs: [blob] }),
        request: this.#open.facts(prompt, mask),
      },
    ])
  }

  /** Throws `request.gone` for one that is not open. */
  answer(
    request: RequestId,
    answer: RequestAnswer,
  ): { rpc: RpcId; prompt: Prompt; result: unknown } {
    return this.#open.answer(request, answer)
  }

  /** The server does not wait any more; the request that nobody answered, or null. */
  resolved(params: unknown): RequestId | null {
    const id = ResolvedNews.safeParse(params).data?.requestId
    return id === undefined ? null : this.#open.withdraw(id)
  }

  clear(): void {
    this.#open.clear()
  }

  #promptOf(method: string, params: unknown): Prompt | null {
    switch (method) {
      case 'item/commandExecution/requestApproval':
        return this.#open.commandPrompt(params)
      case 'item/fileChange/requestApproval': {
        const itemId = (params as { itemId?: unknown } | null)?.itemId
        const item = typeof itemId === 'string' ? this.#options.normalizer.call(itemId) : null
        return this.#open.filePrompt(params, item)
      }
      case 'mcpServer/elicitation/request':
        return this.#open.toolPrompt(params)
      default:
        return null
    }
  }

  /** What nobody is asked: further permissions, forms, and what a newer version may want. */
  async #refuse(rpc: RpcId, method: string): Promise<void> {
    const { server, normalizer, emit, now } = this.#options
    const refused = REFUSALS[method]
    try {
      if (refused !== undefined) {
        await server.respond(rpc, refused)
        return
      }
      emit(normalizer.unknown(method, now()))
      await server.refuse(rpc, `Ballet does not serve ${method}`)
    } catch {
      // It is gone, which its exit tells.
    }
  }
}
