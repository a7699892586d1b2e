import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { BlobText, ProbeFinding } from '../../src-shared/agent-wire.ts'
import { BlobId } from '../../src-shared/ids.ts'
import type { Citation, QuestionOption } from '../../src-shared/questions.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { Plan } from '../decide/planned-answers.ts'
import { lineOfQuote } from './quotes.ts'
import { steeringWords } from './steering.ts'

export type Finding = Extract<z.infer<typeof ProbeFinding>, { kind: 'planner' }>

/** The longest answer and quote that are kept, in UTF-16 code units. */
const TEXT = 20_000
const QUOTE = 5_000
const CITATIONS = 20

const cut = (text: string, most: number) =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text

/**
 * What a run of the planner is worth. Only an answer each of whose quotes stands in its source, of which there is at
 * least one, and whose sources do not try to steer who reads them, is sent; everything else is a draft.
 */
export function judgePlan(finding: Finding, options: readonly QuestionOption[]): Plan {
  const { result, texts, durationMs, costUsd } = finding
  const figures = { durationMs, costUsd }
  if ('undecided' in result) {
    const reason = result.undecided.trim() || 'it gave no reason'
    return { ...figures, outcome: 'undecided', reason: cut(reason, TEXT) }
  }
  const answer = cut(result.answer.trim(), TEXT)
  if (answer === '') return { ...figures, outcome: 'failed', reason: 'it gave an empty answer' }
  const blobs = new Map<string, BlobText>()
  const citations = result.citations.slice(0, CITATIONS).map((citation) => {
    const text = Object.hasOwn(texts, citation.source) ? texts[citation.source] : null
    if (text === null || text === undefined) return { ...citation, verified: false }
    const blob = blobOf(text)
    blobs.set(blob.id, blob)
    return checked(citation, text, blob)
  })
  const draft = { ...figures, answer, citations, blobs: [...blobs.values()] }
  const reason =
    result.citations.length > CITATIONS
      ? `it cites more than ${CITATIONS} passages`
      : whyNotSent(citations, texts)
  if (reason !== null) return { ...draft, outcome: 'draft', reason }
  return { ...draft, outcome: 'answered', text: answer, options: chosen(answer, options) }
}

function blobOf(text: string): BlobText & { id: BlobId } {
  return { id: BlobId.parse(createHash('sha256').update(text).digest('hex')), text }
}

function checked(
  { source, place, quote }: Pick<Citation, 'source' | 'place' | 'quote'>,
  text: string,
  { id }: { id: BlobId },
): Citation {
  const line = lineOfQuote(text, quote)
  const base = { source, place: cut(place, QUOTE), quote: cut(quote, QUOTE), blob: id }
  return line === undefined ? { ...base, verified: false } : { ...base, verified: true, line }
}

function whyNotSent(citations: readonly Citation[], texts: Finding['texts']): string | null {
  if (citations.length === 0) return 'it cites no source'
  const false_ = citations.find(({ verified }) => !verified)
  if (false_ !== undefined) {
    const { source, blob } = false_
    return blob === undefined
      ? `it cites ${source}, which is not among the sources`
      : `a quote that it gives is not in ${source}`
  }
  for (const { source } of citations) {
    const words = steeringWords(texts[source] ?? '')
    if (words !== undefined) {
      return `${source} seems to tell its reader what to answer (“${words}”): look at it yourself`
    }
  }
  return null
}

/** Numbers of the options with whose labels an answer begins. */
function chosen(answer: string, options: readonly QuestionOption[]): number[] {
  const begins = options.flatMap(({ label }, index) =>
    startsWithLabel(answer, label.trim()) ? [{ number: index + 1, length: label.length }] : [],
  )
  const longest = begins.sort((a, b) => b.length - a.length)[0]
  return longest === undefined ? [] : [longest.number]
}

function startsWithLabel(answer: string, label: string): boolean {
  if (!answer.toLowerCase().startsWith(label.toLowerCase())) return false
  return !/^[\p{L}\p{N}_]/u.test(answer.slice(label.length))
}

/** Why a run came to nothing, for people. */
export function failedPlan(refusal: Refusal, limitSeconds: number): Plan {
  const isSlow = refusal.code === 'probe.timeout' || refusal.code === 'planner.time-limit'
  return {
    outcome: 'failed',
    reason: isSlow
      ? `the planner found no answer within ${limitSeconds} s`
      : `the planner failed: ${refusal.message}`,
    isLeft: true,
  }
}
