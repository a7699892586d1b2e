import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { BlobText, ProbeFinding } from '../../src-shared/agent-wire.ts'
import { BlobId } from '../../src-shared/ids.ts'
import type { Citation, QuestionOption } from '../../src-shared/questions.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import { shortened } from '../../src-shared/shortened.ts'
import type { Plan } from '../decide/planned-answers.ts'
import { type FoldedSource, foldSource, lineOfQuote } from './quotes.ts'
import { steeringWords } from './steering.ts'

export type Finding = Extract<z.infer<typeof ProbeFinding>, { kind: 'planner' }>

/** The longest answer and quote that are kept, in UTF-16 code units. */
const TEXT = 20_000
const QUOTE = 5_000
const CITATIONS = 20

/**
 * What a run of the planner is worth. Only an answer each of whose quotes stands in its source, of which there is at
 * least one, and whose sources do not try to steer who reads them, is sent; everything else is a draft.
 */
export function judgePlan(finding: Finding, options: readonly QuestionOption[]): Plan {
  const { result, texts, durationMs, costUsd } = finding
  const figures = { durationMs, costUsd }
  if ('undecided' in result) {
    const reason = result.undecided.trim() || 'it gave no reason'
    return { ...figures, outcome: 'undecided', reason: shortened(reason, TEXT) }
  }
  const answer = shortened(result.answer.trim(), TEXT)
  if (answer === '') return { ...figures, outcome: 'failed', reason: 'it gave an empty answer' }
  const cited = result.citations.slice(0, CITATIONS)
  const sources = sourcesOf(cited, texts)
  const citations = cited.map((citation) => {
    const source = sources.get(citation.source)
    return source === undefined ? { ...citation, verified: false } : checked(citation, source)
  })
  const blobs = new Map([...sources.values()].map(({ blob }) => [blob.id, blob]))
  const draft = { ...figures, answer, citations, blobs: [...blobs.values()] }
  const reason =
    result.citations.length > CITATIONS
      ? `it cites more than ${CITATIONS} passages`
      : whyNotSent(citations, sources)
  if (reason !== null) return { ...draft, outcome: 'draft', reason }
  return { ...draft, outcome: 'answered', text: answer, options: chosen(answer, options) }
}

type Source = { blob: BlobText & { id: BlobId }; folded: FoldedSource }

/** Those that are there, each read once: looking through a large one takes a moment. */
function sourcesOf(
  citations: readonly Pick<Citation, 'source'>[],
  texts: Finding['texts'],
): ReadonlyMap<string, Source> {
  const sources = new Map<string, Source>()
  for (const { source } of citations) {
    const text = Object.hasOwn(texts, source) ? texts[source] : null
    if (text === null || text === undefined || sources.has(source)) continue
    sources.set(source, { blob: blobOf(text), folded: foldSource(text) })
  }
  return sources
}

function blobOf(text: string): BlobText & { id: BlobId } {
  return { id: BlobId.parse(createHash('sha256').update(text).digest('hex')), text }
}

function checked(
  { source, place, quote }: Pick<Citation, 'source' | 'place' | 'quote'>,
  { blob: { id }, folded }: Source,
): Citation {
  const line = lineOfQuote(folded, quote)
  const base = { source, place: shortened(place, QUOTE), quote: shortened(quote, QUOTE), blob: id }
  return line === undefined ? { ...base, verified: false } : { ...base, verified: true, line }
}

function whyNotSent(
  citations: readonly Citation[],
  sources: ReadonlyMap<string, Source>,
): string | null {
  if (citations.length === 0) return 'it cites no source'
  const false_ = citations.find(({ verified }) => !verified)
  if (false_ !== undefined) {
    const { source, blob } = false_
    return blob === undefined
      ? `it cites ${source}, which is not among the sources`
      : `a quote that it gives is not in ${source}`
  }
  for (const [source, { blob }] of sources) {
    const words = steeringWords(blob.text)
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
