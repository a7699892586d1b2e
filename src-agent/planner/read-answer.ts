import { z } from 'zod'
import { BalletError } from '../../src-shared/refusal.ts'

/** One more than Core takes: an answer never loses a citation, which may be the false one, and still counts. */
const CITATIONS = 21

const Answer = z.object({
  answer: z.string().trim().min(1).max(20_000),
  citations: z
    .array(
      z.object({
        source: z.string().trim().min(1).max(4_096),
        place: z.string().max(1_000).default(''),
        quote: z.string().max(20_000),
      }),
    )
    .default([])
    .transform((citations) => citations.slice(0, CITATIONS)),
})

const Undecided = z.object({ undecided: z.string().trim().min(1).max(20_000) })

const PlannerAnswer = z.union([Answer, Undecided])
export type PlannerAnswer = z.infer<typeof PlannerAnswer>

/**
 * The JSON object in what a runtime said: the whole text, a fenced block, or what stands between the outermost
 * braces. Throws `planner.unreadable` when there is none that fits.
 */
export function readAnswer(text: string): PlannerAnswer {
  for (const candidate of candidatesIn(text)) {
    const read = PlannerAnswer.safeParse(parsed(candidate))
    if (read.success) return read.data
  }
  const said = text.trim().replace(/\s+/g, ' ').slice(0, 200)
  throw new BalletError({
    code: 'planner.unreadable',
    message:
      said === ''
        ? 'The planner gave no answer.'
        : `The planner's answer is not what was asked for: ${said}`,
    hint: 'Answer the question yourself; another model may follow the form better.',
  })
}

function* candidatesIn(text: string): Generator<string> {
  yield text
  for (const [, block = ''] of [...text.matchAll(/```[a-z]*\s*\n([\s\S]*?)\n\s*```/gi)].reverse()) {
    yield block
  }
  yield text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
