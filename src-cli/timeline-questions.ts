import { formatDuration } from '../src-shared/duration.ts'
import type { Citation, QuestionOption } from '../src-shared/questions.ts'
import { assertNever } from '../src-shared/refusal.ts'
import type { EventBody } from '../src-shared/timeline.ts'
import { oneLine } from './plain-text.ts'
import { block, line, type TextLine } from './text-lines.ts'

type AskedEvent = Extract<
  EventBody,
  {
    kind:
      | 'question.asked'
      | 'question.planned'
      | 'question.answered'
      | 'question.withdrawn'
      | 'assumption'
      | 'assumption.reviewed'
      | 'progress'
      | 'stage.completed'
  }
>

/** What an agent said through Ballet's tools and what came of it, as people read it. */
export function describeAsked(event: AskedEvent): TextLine[] {
  switch (event.kind) {
    case 'question.asked':
      return [
        ...block(event.text, 'strong', event.textBlob ? ' …' : '', `? ${event.key} `),
        ...(event.context === undefined ? [] : indented(event.context, event.contextBlob)),
        ...describeOptions(event.options),
        line(`  ballet answer ${event.key}`, 'quiet'),
      ]
    case 'question.planned':
      return describePlanned(event)
    case 'question.answered':
      return [
        ...block(
          event.text,
          'strong',
          event.textBlob ? ' …' : '',
          `${event.overturns === true ? '↺' : '✓'} ${event.key} ${answeredHow(event)}: `,
        ),
        ...describeCitations(event.citations),
      ]
    case 'question.withdrawn':
      return [line(`✗ ${event.key} is withdrawn: ${oneLine(event.reason)}`, 'quiet')]
    case 'assumption':
      return [
        line(`≈ assumes: ${oneLine(event.assumption)}`, 'strong'),
        line(`  because: ${oneLine(event.reason)}`, 'quiet'),
        line(`  ballet confirm|overturn ${event.id}`, 'quiet'),
      ]
    case 'assumption.reviewed':
      return [
        line(
          `≈ ${event.outcome} by ${event.author}: ${oneLine(event.text ?? event.assumption)}`,
          event.outcome === 'confirmed' ? 'quiet' : 'strong',
        ),
      ]
    case 'progress':
      return [line(`… ${progressText(event)}`, 'accent')]
    case 'stage.completed':
      return block(
        event.summary,
        event.outcome === 'failed' ? 'bad' : 'strong',
        event.textBlob ? ' …' : '',
        `── stage ${completedAs[event.outcome]}: `,
      )
    default:
      return assertNever(event)
  }
}

/** The options of a question, each with the number that chooses it. */
export function describeOptions(options: readonly QuestionOption[]): TextLine[] {
  return options.map(({ label, detail, recommended }, at) => {
    const more = detail === undefined || detail === '' ? '' : `: ${oneLine(detail)}`
    const mark = recommended ? ' (recommended)' : ''
    return line(`  ${at + 1}  ${oneLine(label)}${mark}${more}`)
  })
}

/** The passages that an answer rests on; what was not found in its source says so. */
export function describeCitations(citations: readonly Citation[]): TextLine[] {
  return citations.map(({ source, place, quote, verified, line: at }) => {
    const where = `${oneLine(source)}${at === undefined ? '' : `:${at}`}, ${oneLine(place)}`
    return verified
      ? line(`  ${where}: “${oneLine(quote)}”`, 'quiet')
      : line(`  ${where}: “${oneLine(quote)}” (not found there)`, 'bad')
  })
}

/** `3/10 Migrating the tables`. */
export function progressText(progress: {
  summary: string
  done?: number | undefined
  total?: number | undefined
}): string {
  const { summary, done, total } = progress
  const count = done === undefined ? '' : `${done}${total === undefined ? '' : `/${total}`} `
  return `${count}${oneLine(summary)}`
}

function describePlanned(event: Extract<AskedEvent, { kind: 'question.planned' }>): TextLine[] {
  const { key, outcome, draft, reason, citations, durationMs } = event
  if (outcome === 'answered') {
    const took = durationMs === undefined ? '' : ` after ${formatDuration(durationMs)}`
    return [line(`  the planner answers ${key}${took}`, 'quiet')]
  }
  return [
    line(`  the planner leaves ${key} to a person: ${oneLine(reason)}`, 'quiet'),
    ...(draft === undefined ? [] : [line(`  its draft: ${oneLine(draft)}`, 'quiet')]),
    ...describeCitations(citations),
  ]
}

function answeredHow(event: Extract<AskedEvent, { kind: 'question.answered' }>): string {
  const verb =
    event.overturns === true ? 'overturned' : event.declined ? 'left to the agent' : 'answered'
  return `${verb} by ${event.author}`
}

const completedAs = { done: 'done', needs_review: 'needs review', failed: 'failed' } as const

function indented(text: string, blob: string | undefined): TextLine[] {
  return block(text, 'quiet', blob === undefined ? '' : ' …').map((part) =>
    line(`  ${part.text}`, part.tone),
  )
}
