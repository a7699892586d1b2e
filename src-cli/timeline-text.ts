import { assertNever } from '../src-shared/refusal.ts'
import { titleOfRuntime } from '../src-shared/runtimes.ts'
import type { EventBody, FileDiff, TimelineEvent } from '../src-shared/timeline.ts'
import { dollars } from './output.ts'
import { fitted, oneLine, plainText, withoutLastBreaks } from './plain-text.ts'
import { block, line, type TextLine, type Tone } from './text-lines.ts'
import { describeAsked } from './timeline-questions.ts'

export type TextOptions = {
  /** At most so many lines of a tool's output or a diff; all when absent. */
  outputLines?: number
}

/** A step that only begins says nothing yet: it is told with its duration when it is over. */
function describeStep({
  kind,
  step,
  status,
  durationMs,
  detail,
}: Extract<EventBody, { kind: 'park.step' | 'resume.step' }>): TextLine[] {
  if (status === 'started') return []
  const time = durationMs === undefined ? '' : ` · ${seconds(durationMs)}`
  const why = detail === undefined ? '' : `: ${oneLine(detail)}`
  const saga = kind === 'park.step' ? 'park' : 'resume'
  const failed = status === 'failed' ? ' failed' : ''
  return [
    line(`── ${saga} ${oneLine(step)}${failed}${time}${why}`, failed === '' ? 'quiet' : 'bad'),
  ]
}

/** An event as people read it, without its number and time; empty for what says nothing more. */
export function describeEvent(event: EventBody, options: TextOptions = {}): TextLine[] {
  const lines = describeBody(event, options)
  return event.parent === undefined
    ? lines
    : lines.map(({ text, tone }) => ({ text: `│ ${text}`, tone }))
}

function describeBody(event: EventBody, options: TextOptions): TextLine[] {
  switch (event.kind) {
    case 'session.state':
      return [
        line(`── ${event.to}${event.reason === '' ? '' : `: ${oneLine(event.reason)}`}`, 'quiet'),
      ]
    case 'turn.started':
      return [line(`── turn ${event.turn ?? ''}`.trimEnd(), 'quiet')]
    case 'turn.ended':
      return [
        line(
          `── turn ${event.reason} · ${seconds(event.durationMs)} · ${dollars(event.costUsd)}`,
          event.reason === 'completed' ? 'quiet' : 'bad',
        ),
        ...given(event.detail, 'bad'),
        ...given(event.hint, 'strong'),
      ]
    case 'assistant.text':
      return block(event.text, 'plain', cut(event))
    case 'assistant.thinking':
      return block(event.text, 'quiet', cut(event))
    case 'tool.call':
      return [line(`▸ ${describeCall(event)}`, 'accent')]
    case 'tool.result':
      return describeResult(event, options)
    case 'todo':
      return event.items.map((item) => line(`${todoMarks[item.status]} ${oneLine(item.text)}`))
    case 'cost':
      return []
    case 'request.opened':
      return [
        line(`? asks for ${event.name ?? event.toolKind}: ${oneLine(event.title)}`, 'strong'),
        line(`  ballet allow|deny ${event.request}`, 'quiet'),
      ]
    case 'request.closed':
      return [
        line(
          `  ${event.outcome} by ${event.author}${event.text === undefined ? '' : `: ${oneLine(event.text)}`}`,
          'quiet',
        ),
      ]
    case 'park.step':
    case 'resume.step':
      return describeStep(event)
    case 'notice':
      return block(
        event.text,
        event.level === 'error' ? 'bad' : 'quiet',
        event.textBlob ? ' …' : '',
      )
    case 'input.queued':
      return [line(`${queuedAs[event.change ?? 'queued']}: ${said(event)}`, 'quiet')]
    case 'input.sent':
      return event.steer === true ? [line(`steers: ${said(event)}`, 'quiet')] : []
    case 'input.delivered':
      return [
        ...block(event.text, 'strong', event.textBlob ? ' …' : '', event.steer ? '»» ' : '» '),
        ...(event.images ?? []).map(({ mediaType, bytes }) =>
          line(`  [${mediaType}, ${Math.ceil(bytes / 1_000)} kB]`, 'quiet'),
        ),
      ]
    case 'input.cancelled':
      return [line(`cancelled: ${said(event)}`, 'quiet')]
    case 'input.unknown':
      return [line(`whether this arrived is not known: ${said(event)}`, 'bad')]
    case 'runtime.changed': {
      const model = event.model === null ? '' : ` with ${oneLine(event.model)}`
      return [line(`${titleOfRuntime(event.to)}${model} goes on, in a new conversation`, 'strong')]
    }
    case 'question.asked':
    case 'question.planned':
    case 'question.answered':
    case 'question.withdrawn':
    case 'assumption':
    case 'assumption.reviewed':
    case 'progress':
    case 'stage.completed':
      return describeAsked(event)
    default:
      return assertNever(event)
  }
}

const queuedAs = { queued: 'queued', edited: 'edited', moved: 'moved' } as const

/** Enough to know which one it is: the whole message is told when it is delivered. */
const SAID_CELLS = 60

function said({ text, images }: { text: string; images?: readonly unknown[] | undefined }): string {
  const count = images?.length ?? 0
  const shown = count === 0 ? '' : `[${count} ${count === 1 ? 'image' : 'images'}]`
  return [fitted(oneLine(text), SAID_CELLS), shown].filter((part) => part !== '').join(' ')
}

/** The title of a call to a server of tools names the tool already, more readably. */
function describeCall({
  name,
  toolKind,
  title,
}: Extract<EventBody, { kind: 'tool.call' }>): string {
  const what = oneLine(title)
  return toolKind === 'mcp' && what !== '' ? what : `${oneLine(name)} ${what}`.trimEnd()
}

function describeResult(
  event:
    | Extract<TimelineEvent, { kind: 'tool.result' }>
    | Extract<EventBody, { kind: 'tool.result' }>,
  { outputLines }: TextOptions,
): TextLine[] {
  const lines =
    event.diff !== undefined && event.diff.length > 0
      ? event.diff.flatMap(describeDiff)
      : withoutLastBreaks(plainText(event.output))
          .split('\n')
          .filter((text, at, all) => text !== '' || all.length > 1 || at > 0)
          .map((text) => line(`  ${text}`, event.status === 'error' ? 'bad' : 'quiet'))
  const shown = outputLines === undefined ? lines : lines.slice(0, outputLines)
  const left = lines.length - shown.length
  return [
    ...shown,
    ...(left > 0 ? [line(`  … ${left} more ${left === 1 ? 'line' : 'lines'}`, 'quiet')] : []),
    ...(event.outputBlob === undefined ? [] : [line('  … the whole output is longer', 'quiet')]),
    ...(event.status === 'ok' ? [] : [line(`  ${event.status}`, 'bad')]),
  ]
}

function describeDiff({ path, patch, added, removed }: FileDiff): TextLine[] {
  return [
    line(`  ${oneLine(path)}  +${added} -${removed}`, 'strong'),
    ...plainText(patch)
      .replace(/\n$/, '')
      .split('\n')
      .map((text) => line(`  ${text}`, patchTone(text))),
  ]
}

function patchTone(text: string): Tone {
  if (text.startsWith('+')) return 'good'
  if (text.startsWith('-')) return 'bad'
  return 'quiet'
}

const todoMarks = { pending: '☐', active: '▶', done: '☑' } as const

function cut(event: { partial?: boolean | undefined; textBlob?: string | undefined }): string {
  if (event.partial === true) return ' … (cut off)'
  return event.textBlob === undefined ? '' : ' …'
}

function given(text: string | undefined, tone: Tone): TextLine[] {
  return text === undefined || text === '' ? [] : [line(`   ${oneLine(text)}`, tone)]
}

function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const whole = Math.round(ms / 1_000)
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60]
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`
}
