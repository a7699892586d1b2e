import type { DriverEvent } from '../driver.ts'
import type { RateLimitLine, SystemLine } from './lines.ts'

export type Notice = Extract<DriverEvent, { kind: 'notice' }>

/** Lines of the system that tell nothing which the timeline shows. */
const SILENT = new Set([
  'init',
  'status',
  'session_state_changed',
  'session_title_changed',
  'thinking_tokens',
  'task_started',
  'task_progress',
  'task_updated',
  'task_notification',
  'background_tasks_changed',
  'files_persisted',
  'informational',
  'notification',
  'hook_started',
  'hook_progress',
  'elicitation_complete',
  'local_command_output',
  'plugin_install',
  'post_turn_summary',
  'turn_duration',
])

/** What a system line tells people; null when it is silent, `unknown` when the driver does not know it. */
export function noticeOfSystem(line: SystemLine): Notice | 'unknown' | null {
  if (SILENT.has(line.subtype)) return null
  switch (line.subtype) {
    case 'api_retry':
      return retryNotice(line)
    case 'model_fallback':
      return notice(
        'warning',
        'model.fallback',
        `${text(line.original_model) || 'The model'} is ${text(line.trigger) || 'not available'}: ${text(line.fallback_model)} answers instead.`,
      )
    case 'model_refusal_no_fallback':
      return notice('warning', 'model.refusal', 'The model refused to answer.')
    case 'compact_boundary':
      return compactionNotice(line)
    case 'permission_denied':
      return notice(
        'warning',
        'permission.denied',
        `${text(line.tool_name)} was not allowed: ${text(line.message)}`,
      )
    case 'hook_response':
      return hookNotice(line)
    default:
      return 'unknown'
  }
}

/** A failed attempt to reach the model that will be tried again; null for every other line. */
export function retryAttempt(line: SystemLine): { status: number | null; attempt: number } | null {
  if (line.subtype !== 'api_retry') return null
  const { error_status: status, attempt } = line
  return {
    status: typeof status === 'number' ? status : null,
    attempt: typeof attempt === 'number' ? attempt : 1,
  }
}

export function rateLimitNotice(line: RateLimitLine): Notice | null {
  const { status, rateLimitType, utilization } = line.rate_limit_info
  const limit = `${(rateLimitType ?? 'usage').replaceAll('_', '-')} limit`
  const until = resetsAt(line)
  const renewed = until === null ? '' : ` It is renewed at ${until}.`
  if (status === 'rejected') {
    return notice('error', 'rate-limit', `The ${limit} of the account is used up.${renewed}`)
  }
  if (status === 'allowed_warning') {
    const used = typeof utilization === 'number' ? ` ${Math.round(utilization * 100)} % of` : ''
    return notice('warning', 'rate-limit', `The account has used${used} its ${limit}.${renewed}`)
  }
  return null
}

/** When a used up limit is renewed, ISO 8601 in UTC; null where it is not told. */
export function resetsAt(line: RateLimitLine): string | null {
  const seconds = line.rate_limit_info.resetsAt
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return null
  const moment = new Date(seconds * 1_000)
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString()
}

export function notice(level: Notice['level'], code: string, message: string): Notice {
  return { kind: 'notice', level, code, text: message }
}

function retryNotice(line: SystemLine): Notice {
  const status = typeof line.error_status === 'number' ? `${line.error_status} ` : ''
  const error = text(line.error).replaceAll('_', ' ') || 'no answer'
  const delay = Math.round(Number(line.retry_delay_ms ?? 0) / 100) / 10
  return notice(
    'warning',
    'model.retry',
    `The model provider failed (${status}${error}). Attempt ${Number(line.attempt ?? 1)} of ${Number(line.max_retries ?? 1)} follows in ${delay} s.`,
  )
}

function compactionNotice(line: SystemLine): Notice {
  const metadata = (line.compact_metadata ?? {}) as Record<string, unknown>
  const { pre_tokens: before, post_tokens: after } = metadata
  const sizes =
    typeof before === 'number'
      ? ` (${before} tokens${typeof after === 'number' ? ` became ${after}` : ''})`
      : ''
  return notice('info', 'compaction', `The conversation was summarised to make room${sizes}.`)
}

function hookNotice(line: SystemLine): Notice | null {
  const output = [text(line.stdout), text(line.stderr)].filter((part) => part !== '').join('\n')
  if (output === '') return null
  const failed = text(line.outcome) === 'error'
  return notice(
    failed ? 'warning' : 'info',
    'hook.output',
    `Hook ${text(line.hook_name) || text(line.hook_event)}: ${output}`,
  )
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
