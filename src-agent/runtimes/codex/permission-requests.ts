import { resolve } from 'node:path'
import { z } from 'zod'
import type { RequestFacts, SessionGrant } from '../../../src-shared/agent-wire.ts'
import type { RequestId } from '../../../src-shared/ids.ts'
import type { PermissionMode, ToolKind } from '../../../src-shared/records.ts'
import { callDigest, canonical } from '../call-digest.ts'
import { oneLine } from '../cut-text.ts'
import type { RequestAnswer } from '../driver.ts'
import { requestGone } from '../failures.ts'
import { leadsInside } from '../inside-workspace.ts'
import type { RpcId } from './app-server.ts'
import { destinationOf, plainCommand, readItem } from './items.ts'
import { CommandApproval, Elicitation, FileApproval, FileChange, type Item } from './protocol.ts'

/**
 * What an answer for the session allows: this very command, every edit inside the workspace, or the tools of a server
 * of MCP. Codex's own answers for a session are not used: they end with the program.
 */
const Rule = z.discriminatedUnion('allow', [
  z.object({ allow: z.literal('command'), command: z.string(), cwd: z.string() }),
  z.object({ allow: z.literal('edits') }),
  z.object({ allow: z.literal('mcp'), server: z.string() }),
])
type Rule = z.infer<typeof Rule>

/** What the server asks permission for. */
export type Prompt = {
  callId: string
  name: string
  toolKind: ToolKind
  title: string
  input: unknown
  rule: Rule | null
  /** How an answer is written. */
  answers: 'decision' | 'action'
}

type Open = { rpc: RpcId; prompt: Prompt }

/** The permissions that the server waits for, and what was allowed for the session. */
export class PermissionRequests {
  readonly #cwd: string
  readonly #mode: PermissionMode
  readonly #open = new Map<RequestId, Open>()
  readonly #rules = new Set<string>()
  readonly #digests = new Set<string>()

  constructor(cwd: string, mode: PermissionMode, grants: readonly SessionGrant[]) {
    this.#cwd = cwd
    this.#mode = mode
    for (const { digest, rules } of grants) {
      // Without rules the identical call is allowed.
      if (rules.length === 0) this.#digests.add(digest)
      for (const rule of rules) this.#allow(rule)
    }
  }

  /** Nobody needs to be asked. */
  isAllowed(prompt: Prompt): boolean {
    const { rule } = prompt
    if (rule?.allow === 'edits' && this.#mode !== 'ask') return true
    if (rule !== null && this.#rules.has(canonical(rule))) return true
    return this.#digests.has(callDigest(prompt.name, prompt.input))
  }

  /** What Core keeps of a prompt. `mask` is for people. */
  facts(prompt: Prompt, mask: (text: string) => string): RequestFacts {
    const { rule } = prompt
    return {
      digest: callDigest(prompt.name, prompt.input),
      rules: rule === null ? [] : [rule],
      ruleTexts: rule === null ? [] : [oneLine(mask(describe(rule)), 500)],
    }
  }

  add(id: RequestId, rpc: RpcId, prompt: Prompt): void {
    this.#open.set(id, { rpc, prompt })
  }

  /** The server does not wait for this one any more. */
  withdraw(rpc: RpcId): RequestId | null {
    const found = [...this.#open].find(([, open]) => open.rpc === rpc)?.[0]
    if (found !== undefined) this.#open.delete(found)
    return found ?? null
  }

  /** What to write for an answer; the request is closed by it. Throws `request.gone` for one that is not open. */
  answer(id: RequestId, { outcome }: RequestAnswer): Open & { result: unknown } {
    const open = this.#open.get(id)
    if (open === undefined) throw requestGone()
    this.#open.delete(id)
    const { rule } = open.prompt
    if (outcome === 'allow-for-session') {
      if (rule === null) this.#digests.add(callDigest(open.prompt.name, open.prompt.input))
      else this.#allow(rule)
    }
    return { ...open, result: resultOf(open.prompt, outcome !== 'deny') }
  }

  clear(): void {
    this.#open.clear()
  }

  /** The prompt of a command; `item` is its call where the server told of it. */
  commandPrompt(params: unknown): Prompt | null {
    const read = CommandApproval.safeParse(params).data
    if (read === undefined) return null
    const command = plainCommand(read.command ?? '')
    const cwd = read.cwd ?? this.#cwd
    const { reason } = read
    return {
      callId: read.itemId,
      name: 'shell',
      toolKind: 'execute',
      title: oneLine(command === '' ? (reason ?? 'a command') : command),
      input: {
        command,
        ...(cwd === this.#cwd ? {} : { cwd }),
        ...(typeof reason === 'string' ? { reason } : {}),
      },
      rule: command === '' ? null : { allow: 'command', command, cwd },
      answers: 'decision',
    }
  }

  filePrompt(params: unknown, item: Item | null): Prompt | null {
    const read = FileApproval.safeParse(params).data
    if (read === undefined) return null
    const seen = item === null ? null : readItem(item, this.#cwd)
    const call = seen?.kind === 'call' ? seen.call : null
    return {
      callId: read.itemId,
      name: call?.name ?? 'apply_patch',
      toolKind: 'edit',
      title: call?.title ?? read.reason ?? 'an edit',
      input: call?.input ?? {},
      rule: this.#isInside(item) ? { allow: 'edits' } : null,
      answers: 'decision',
    }
  }

  /** Null for a question of a server that is no permission for a tool. */
  toolPrompt(params: unknown): Prompt | null {
    const read = Elicitation.safeParse(params).data
    const facts = read?._meta
    if (read === undefined || facts?.codex_approval_kind !== 'mcp_tool_call') return null
    const tool = typeof facts.tool_name === 'string' ? facts.tool_name : 'a tool'
    return {
      callId: `${read.serverName}:${tool}`,
      name: `mcp__${read.serverName}__${tool}`,
      toolKind: 'mcp',
      title: oneLine(`${read.serverName}: ${tool.replaceAll('_', ' ')}`),
      input: facts.tool_params ?? {},
      rule: { allow: 'mcp', server: read.serverName },
      answers: 'action',
    }
  }

  /** Whether every file of an edit, and every place that it moves one to, is in the workspace. */
  #isInside(item: Item | null): boolean {
    const changes = FileChange.safeParse(item).data?.changes ?? []
    return (
      changes.length > 0 &&
      changes
        .flatMap((change) => [change.path, destinationOf(change) ?? change.path])
        .every(
          (path) => resolve(this.#cwd, path) !== resolve(this.#cwd) && leadsInside(this.#cwd, path),
        )
    )
  }

  #allow(value: unknown): void {
    const rule = Rule.safeParse(value).data
    if (rule !== undefined) this.#rules.add(canonical(rule))
  }
}

/** How the server is told. */
export function resultOf({ answers }: Prompt, isAllowed: boolean): unknown {
  if (answers === 'decision') return { decision: isAllowed ? 'accept' : 'decline' }
  return { action: isAllowed ? 'accept' : 'decline', content: isAllowed ? {} : null, _meta: null }
}

function describe(rule: Rule): string {
  switch (rule.allow) {
    case 'command':
      return `shell(${rule.command})`
    case 'edits':
      return 'every edit in the workspace'
    case 'mcp':
      return `the tools of ${rule.server}`
  }
}
