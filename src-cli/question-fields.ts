import type { PlannerDraft, Question, QuestionAnswer } from '../src-shared/questions.ts'
import { plainText } from './plain-text.ts'
import { describeCitations, describeOptions } from './timeline-questions.ts'

/** Everything of a question that people decide by, and what became of it. */
export function questionFields(question: Question): (readonly [string, string])[] {
  const { answer, draft, overturned } = question
  return [
    ['key', question.key],
    ['id', question.id],
    ['ticket', question.ticket],
    ['session', question.session],
    ['state', question.state],
    ['held by', question.state === 'open' ? question.heldBy : ''],
    ['urgency', question.urgency],
    ['asked', question.createdAt],
    ['answered', question.answeredAt ?? ''],
    ['question', plainText(question.question)],
    ['context', block(question.context)],
    ['options', optionLines(question)],
    [
      draft?.answer === null ? 'no draft' : 'draft',
      draft === null ? '' : `${draftText(draft)}${cited(draft)}`,
    ],
    ['answer', answer === null ? '' : `${said(answer)}${cited(answer)}`],
    ['delivery', delivery(question)],
    ['overturned', overturned === null ? '' : said(overturned)],
  ]
}

/** Where an answer is on its way to the session. */
function delivery({ state, input, undoUntil }: Question): string {
  if (state !== 'answered') return ''
  if (undoUntil !== null) return `held until ${undoUntil}`
  return input === null
    ? 'when its turn is over and all that was asked in it is answered'
    : `input ${input}`
}

function optionLines({ options, multiple }: Question): string {
  if (options.length === 0) return ''
  const several = multiple ? 'several may be chosen' : ''
  return `${several}${below(describeOptions(options).map(({ text }) => text))}`
}

function draftText({ answer, reason }: PlannerDraft): string {
  return answer === null ? plainText(reason) : `${plainText(answer)} (${plainText(reason)})`
}

function said({ text, author }: QuestionAnswer): string {
  return `${plainText(text)} (by ${author})`
}

function cited({ citations }: Pick<QuestionAnswer, 'citations'>): string {
  return below(describeCitations(citations).map(({ text }) => text))
}

function block(text: string | null): string {
  return text === null || text === '' ? '' : `\n\n${plainText(text)}\n`
}

function below(lines: readonly string[]): string {
  return lines.map((line) => `\n${line}`).join('')
}
