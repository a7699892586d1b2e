import { z } from 'zod'
import type { RequestFacts, SessionGrant } from '../../../src-shared/agent-wire.ts'
import type { PermissionMode } from '../../../src-shared/records.ts'
import { callDigest } from '../call-digest.ts'
import { oneLine } from '../cut-text.ts'
import type { PermissionPrompt } from './wire.ts'

export type Action = 'allow' | 'ask' | 'deny'
/** A rule of opencode: the last one that fits decides. */
export type Rule = { permission: string; pattern: string; action: Action }

const Grant = z.looseObject({ permission: z.string(), pattern: z.string() })

/** What never asks: it only reads what is in the workspace, or what Ballet keeps itself. */
const HARMLESS = ['read', 'glob', 'grep', 'list', 'lsp', 'skill', 'task', 'todoread', 'todowrite']
const ASKING = ['bash', 'edit', 'webfetch', 'websearch', 'codesearch', 'external_directory']

/**
 * What git goes by and runs, such as hooks, filters and the program for ssh: an edit of it is a command. opencode's
 * patterns are for the path from the root of the workspace, and tell cases apart, which some file systems do not.
 */
const OF_GIT = ['g', 'G']
  .flatMap((g) => ['i', 'I'].flatMap((i) => ['t', 'T'].map((t) => `.${g}${i}${t}`)))
  .flatMap((name) => [name, `${name}/*`, `*/${name}`, `*/${name}/*`])

/** The rules of a mode, in order. Ballet's own tools never ask, and opencode's question tool is none of them. */
export function rulesOf(mode: PermissionMode, servers: readonly string[]): Rule[] {
  const rule = (permission: string, action: Action, pattern = '*'): Rule => ({
    ...{ permission, pattern, action },
  })
  const own = servers.map((name) => rule(`${name}_*`, 'allow'))
  const last = [...own, rule('question', 'deny')]
  if (mode === 'full') return [rule('*', 'allow'), ...last]
  return [
    rule('*', 'ask'),
    ...HARMLESS.map((name) => rule(name, 'allow')),
    rule('read', 'ask', '*.env'),
    rule('read', 'ask', '*.env.*'),
    rule('read', 'allow', '*.env.example'),
    ...ASKING.map((name) => rule(name, mode === 'edits' && name === 'edit' ? 'allow' : 'ask')),
    ...(mode === 'edits' ? OF_GIT.map((pattern) => rule('edit', 'ask', pattern)) : []),
    ...last,
  ]
}

/** The same for the configuration, which the sessions of subagents go by. */
export function configPermission(
  rules: readonly Rule[],
): Record<string, Action | Record<string, Action>> {
  const config: Record<string, Action | Record<string, Action>> = {}
  for (const { permission, pattern, action } of rules) {
    const before = config[permission]
    // Some of them take no patterns at all.
    if (before === undefined && pattern === '*') config[permission] = action
    else {
      const patterns = typeof before === 'string' ? { '*': before } : before
      config[permission] = { ...patterns, [pattern]: action }
    }
  }
  return config
}

/** What Core keeps of a prompt. `mask` is for people. */
export function requestFacts(
  prompt: PermissionPrompt,
  call: { name: string; input: unknown },
  mask: (text: string) => string,
): RequestFacts {
  const { permission, patterns, always } = prompt
  // What it offers for an edit is every edit.
  const offered = patterns.some((text) => isOfGit(permission, text)) ? patterns : always
  const rules = offered.slice(0, 100).map((pattern) => ({
    permission,
    pattern,
  }))
  return {
    digest: callDigest(call.name, call.input ?? {}),
    rules,
    ruleTexts: rules.map(({ permission, pattern }) =>
      oneLine(mask(pattern === '*' ? `every ${permission}` : `${permission}(${pattern})`), 500),
    ),
  }
}

/** What was allowed for one session; opencode's own `always` is for everything that runs in its folder. */
export class Grants {
  readonly #rules: { permission: string; pattern: string }[] = []

  constructor(grants: readonly SessionGrant[]) {
    for (const { rules } of grants) this.add(rules)
  }

  add(rules: RequestFacts['rules']): void {
    this.#rules.push(...rules.flatMap((rule) => Grant.safeParse(rule).data ?? []))
  }

  /** Everything that the prompt is about was allowed. */
  allow({ permission, patterns }: PermissionPrompt): boolean {
    return (
      patterns.length > 0 &&
      patterns.every((text) =>
        this.#rules.some(
          (rule) =>
            fits(rule.permission, permission) &&
            (isOfGit(permission, text) ? rule.pattern === text : fits(rule.pattern, text)),
        ),
      )
    )
  }
}

function isOfGit(permission: string, path: string): boolean {
  return (
    permission === 'edit' && OF_GIT.some((pattern) => fits(pattern, path.replaceAll('\\', '/')))
  )
}

/** As opencode matches: `*` is any text, `?` one character, and a trailing ` *` may be missing. */
export function fits(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/ \*$/, '\u0000')
    .replaceAll('*', '[^]*')
    .replaceAll('?', '[^]')
    .replace('\u0000', '(?: [^]*)?')
  return new RegExp(`^${source}$`).test(text)
}
