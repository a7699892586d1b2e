import type { RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { z } from 'zod'
import type { RequestFacts, SessionGrant } from '../../../src-shared/agent-wire.ts'
import type { RequestId } from '../../../src-shared/ids.ts'
import type { PermissionMode, ToolKind } from '../../../src-shared/records.ts'
import { callDigest } from '../call-digest.ts'
import type { RequestAnswer } from '../driver.ts'
import { requestGone } from '../failures.ts'
import { leadsInside } from '../inside-workspace.ts'
import { maybeBallets, toolKindOf } from './call-facts.ts'
import type { ToolCallUpdate } from './updates.ts'

export type PermissionOption = { optionId: string; kind: string; name: string }

/** A prompt of the agent, as it is decided about. */
export type Prompt = {
  name: string
  isMcp: boolean
  /** It is named like one of the tools that Ballet serves. */
  isBallets: boolean
  call: ToolCallUpdate
  options: readonly PermissionOption[]
}

/** What an answer for the session allows beyond the identical call: every call of a kind inside the workspace. */
const KindRule = z.object({ allow: z.enum(['read', 'edit', 'search', 'fetch']) })

const ALLOWS = ['allow_once', 'allow_always'] as const
const DENIES = ['reject_once', 'reject_always'] as const
const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

type Open = { options: readonly PermissionOption[]; rules: RequestFacts['rules'] } & {
  settle: (response: RequestPermissionResponse) => void
}

/** The permission prompts that the agent waits for, and what was allowed for the session. */
export class PermissionRequests {
  readonly #mode: PermissionMode
  readonly #cwd: string
  readonly #open = new Map<RequestId, Open>()
  readonly #allowed = new Set<string>()

  constructor(mode: PermissionMode, grants: readonly SessionGrant[], cwd: string) {
    this.#mode = mode
    this.#cwd = cwd
    for (const { rules } of grants) this.#allow(rules)
  }

  /** The answer to a prompt that nobody needs to see; null for one that a person decides. */
  decide(prompt: Prompt): RequestPermissionResponse | null {
    if (!this.#isAllowed(prompt)) return null
    return selected(prompt.options, ALLOWS)
  }

  /** What a prompt is answered that nobody can allow: no answer of a person would change it. Null for every other one. */
  notAllowable({ options }: Pick<Prompt, 'options'>): RequestPermissionResponse | null {
    if (selected(options, ALLOWS) !== null) return null
    return selected(options, DENIES) ?? CANCELLED
  }

  /** What Core keeps of a prompt. */
  facts(prompt: Prompt): RequestFacts {
    const { name, call } = prompt
    const kind = this.#kindInside(prompt)
    const rule = KindRule.safeParse({ allow: kind })
    return {
      digest: callDigest(name, call.rawInput ?? call.title ?? null),
      rules: rule.success ? [rule.data] : [],
      ruleTexts: rule.success ? [RULE_TEXTS[rule.data.allow]] : [],
    }
  }

  /** Resolves with what to answer when a person did. */
  wait(
    id: RequestId,
    options: readonly PermissionOption[],
    rules: RequestFacts['rules'],
  ): Promise<RequestPermissionResponse> {
    return new Promise((settle) => this.#open.set(id, { options, rules, settle }))
  }

  /** The request is closed by it. Throws `request.gone` for one that is not open. */
  answer(id: RequestId, answer: RequestAnswer): void {
    const open = this.#open.get(id)
    if (open === undefined) throw requestGone()
    this.#open.delete(id)
    if (answer.outcome === 'allow-for-session') this.#allow(open.rules)
    const kinds =
      answer.outcome === 'deny'
        ? DENIES
        : // For the session Ballet itself remembers it: the agent's "always" may reach further, and lasts longer.
          ALLOWS
    open.settle(selected(open.options, kinds) ?? CANCELLED)
  }

  /** The agent does not wait for this one any more; false for one that is not open. */
  withdraw(id: RequestId): boolean {
    const open = this.#open.get(id)
    this.#open.delete(id)
    open?.settle(CANCELLED)
    return open !== undefined
  }

  /** The turn is over, or is being ended: answers all that are open as cancelled, as the protocol wants it. */
  cancelAll(): RequestId[] {
    const ids = [...this.#open.keys()]
    for (const id of ids) this.withdraw(id)
    return ids
  }

  #isAllowed(prompt: Prompt): boolean {
    if (this.#mode === 'full') return true
    // The kind may have come after the name.
    if (prompt.isBallets && maybeBallets(prompt.call.kind)) return true
    const kind = this.#kindInside(prompt)
    if (kind === null) return false
    if (this.#allowed.has(kind)) return true
    return this.#mode === 'edits' && (kind === 'edit' || kind === 'read' || kind === 'search')
  }

  /** The kind of the call, when every file that it names is in the workspace. */
  #kindInside({ call, isMcp }: Prompt): ToolKind | null {
    const kind = toolKindOf(call.kind, isMcp)
    const paths = [...(call.locations ?? []), ...(call.content ?? [])].flatMap((each) =>
      typeof each.path === 'string' ? each.path : [],
    )
    // Where an edit goes that names no file nobody knows.
    if (kind === 'edit' && paths.length === 0) return null
    return paths.every((path) => leadsInside(this.#cwd, path)) ? kind : null
  }

  #allow(rules: RequestFacts['rules']): void {
    for (const rule of rules) {
      const { data } = KindRule.safeParse(rule)
      if (data !== undefined) this.#allowed.add(data.allow)
    }
  }
}

const RULE_TEXTS: Readonly<Record<z.infer<typeof KindRule>['allow'], string>> = {
  read: 'every read in the workspace',
  edit: 'every edit in the workspace',
  search: 'every search in the workspace',
  fetch: 'every fetch',
}

function selected(
  options: readonly PermissionOption[],
  kinds: readonly string[],
): RequestPermissionResponse | null {
  for (const kind of kinds) {
    const option = options.find((candidate) => candidate.kind === kind)
    if (option !== undefined) {
      return { outcome: { outcome: 'selected', optionId: option.optionId } }
    }
  }
  return null
}
