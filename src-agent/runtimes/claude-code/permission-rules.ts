import { z } from 'zod'
import type { RequestFacts, SessionGrant } from '../../../src-shared/agent-wire.ts'
import type { PermissionMode } from '../../../src-shared/records.ts'
import { callDigest } from '../call-digest.ts'
import { oneLine } from '../cut-text.ts'
import { toolKindOf } from './tools.ts'

const Rule = z.object({ toolName: z.string(), ruleContent: z.string().optional() })

/** What Claude Code suggests to allow with its prompts, as far as an answer for the session may use it. */
const Suggestion = z.discriminatedUnion('type', [
  z.object({ type: z.literal('addRules'), rules: z.array(Rule), behavior: z.literal('allow') }),
  z.object({ type: z.literal('addDirectories'), directories: z.array(z.string()) }),
  z.object({ type: z.literal('setMode'), mode: z.literal('acceptEdits') }),
])
type Suggestion = z.infer<typeof Suggestion>

/** What Core keeps of a prompt. `mask` is for people: what the runtime gets back must be whole. */
export function requestFacts(
  name: string,
  input: unknown,
  suggested: readonly unknown[],
  mask: (text: string) => string,
): RequestFacts {
  const suggestions = sessionRules(name, suggested)
  return {
    digest: callDigest(name, input ?? {}),
    rules: suggestions.map((suggestion) => ({ ...suggestion, destination: 'session' })),
    ruleTexts: suggestions.flatMap(describe).map((text) => oneLine(mask(text), 500)),
  }
}

/**
 * The runtime's own suggestions, without those that go further than the call: it offers every edit with a command
 * that writes. Without any, a tool that runs no commands is allowed as a whole.
 */
function sessionRules(name: string, suggested: readonly unknown[]): Suggestion[] {
  const isCommand = toolKindOf(name) === 'execute'
  const known = suggested.flatMap((value) => Suggestion.safeParse(value).data ?? [])
  const fitting = known.filter(({ type }) => !isCommand || type !== 'setMode')
  if (fitting.length > 0 || isCommand) return fitting
  return [{ type: 'addRules', rules: [{ toolName: name }], behavior: 'allow' }]
}

function describe(suggestion: Suggestion): string[] {
  switch (suggestion.type) {
    case 'addRules':
      return suggestion.rules.map(({ toolName, ruleContent }) =>
        ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
      )
    case 'addDirectories':
      return suggestion.directories.map((folder) => `files in ${folder}`)
    case 'setMode':
      return ['every edit']
  }
}

/** What was allowed for the session before the runtime started: its mode, and its settings where there are any. */
export function grantedAtLaunch(
  permission: PermissionMode,
  grants: readonly SessionGrant[],
): { permission: PermissionMode; settings: object | null } {
  const rules = grants
    .flatMap((grant) => grant.rules)
    .flatMap((rule) => Suggestion.safeParse(rule).data ?? [])
  if (rules.length === 0) return { permission, settings: null }
  const takesEdits = rules.some(({ type }) => type === 'setMode')
  return {
    permission: permission === 'ask' && takesEdits ? 'edits' : permission,
    settings: {
      permissions: {
        allow: rules.flatMap((rule) => (rule.type === 'addRules' ? rule.rules.map(ruleText) : [])),
        additionalDirectories: rules.flatMap((rule) =>
          rule.type === 'addDirectories' ? rule.directories : [],
        ),
      },
    },
  }
}

/** As settings write a rule. */
function ruleText({ toolName, ruleContent }: z.infer<typeof Rule>): string {
  if (ruleContent === undefined) return toolName
  return `${toolName}(${ruleContent.replace(/[\\()]/g, '\\$&')})`
}
