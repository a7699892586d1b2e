import type { Notice } from './entries.ts'
import { McpNews, MessageNews, RateLimitNews, RateLimitWindow, type TurnError } from './protocol.ts'
import { describeError } from './turn-end.ts'

export type Told = { level: Notice['level']; code: string; text: string }

/** Of a used up limit people are warned from so many percent on. */
const WARN_FROM = 90

/** Notifications that tell nothing which the timeline shows. */
const SILENT = new Set([
  'account/updated',
  'app/list/updated',
  'deprecationNotice',
  'fs/changed',
  'hook/started',
  'hook/completed',
  'item/commandExecution/terminalInteraction',
  'item/fileChange/outputDelta',
  'item/fileChange/patchUpdated',
  'item/mcpToolCall/progress',
  'item/plan/delta',
  'item/reasoning/textDelta',
  'model/verification',
  'modelProvider/authRecoveryStarted',
  'modelProvider/authRecoveryCompleted',
  'rawResponse/completed',
  'rawResponseItem/completed',
  'remoteControl/status/changed',
  'skills/changed',
  'turn/diff/updated',
  'turn/moderationMetadata',
])

export function isSilent(method: string): boolean {
  // What becomes of a thread as a whole, such as its name and its place in lists.
  return SILENT.has(method) || method.startsWith('thread/') || method.startsWith('project/')
}

export function retryNotice(error: TurnError): Told {
  const why = describeError(error).replaceAll('\n', ': ')
  return {
    level: 'warning',
    code: 'model.retry',
    text: `The model provider failed, and Codex tries again. ${why}`,
  }
}

/** What Codex warns of; null where it says nothing. */
export function warningNotice(params: unknown): Told | null {
  const read = MessageNews.safeParse(params).data
  const text = read?.message ?? read?.summary ?? ''
  return text === '' ? null : { level: 'info', code: 'runtime.warning', text: `Codex: ${text}` }
}

/** Null for a server that is reached, and for one that nobody waits for yet. */
export function mcpNotice(params: unknown, own: ReadonlySet<string>): Told | null {
  const news = McpNews.safeParse(params).data
  if (news === undefined || !['failed', 'cancelled'].includes(news.status)) return null
  const why = news.error ?? news.status
  if (own.has(news.name)) return unreachable(news.name, why)
  const text = `Codex does not reach the tools of \`${news.name}\`, which its own configuration names: ${why}`
  return { level: 'info', code: 'mcp.unreachable', text }
}

export function unreachable(name: string, why: string): Told {
  const text = `Codex does not reach the tools of \`${name}\` (${why}): the agent goes on, but cannot ask questions. Stop and start the session to try again.`
  return { level: 'error', code: 'mcp.unreachable', text }
}

/** Null while nothing is nearly used up. */
export function rateLimitNotice(params: unknown): Told | null {
  const limits = RateLimitNews.safeParse(params).data?.rateLimits
  if (limits === undefined) return null
  const windows = [limits.primary, limits.secondary]
    .flatMap((value) => RateLimitWindow.safeParse(value).data ?? [])
    .sort((a, b) => b.usedPercent - a.usedPercent)
  const [fullest] = windows
  const seconds = fullest?.resetsAt
  const renewed =
    typeof seconds === 'number' && Number.isFinite(seconds)
      ? ` It is renewed at ${new Date(seconds * 1_000).toISOString()}.`
      : ''
  if (typeof limits.rateLimitReachedType === 'string') {
    const text = `The limit of the account is used up.${renewed}`
    return { level: 'error', code: 'rate-limit', text }
  }
  if (fullest === undefined || fullest.usedPercent < WARN_FROM) return null
  const used = Math.round(fullest.usedPercent)
  return {
    level: 'warning',
    code: 'rate-limit',
    text: `The account has used ${used} % of its limit.${renewed}`,
  }
}
