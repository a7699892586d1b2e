import { z } from 'zod'
import { AssumptionId, QuestionId } from './ids.ts'
import { Urgency } from './questions.ts'
import { StageOutcome } from './records.ts'

/** The name under which a runtime lists Ballet's tools. */
export const MCP_SERVER_NAME = 'ballet'

/** In UTF-16 code units. */
export const QUESTION_LIMITS = {
  question: 10_000,
  context: 50_000,
  options: 10,
  label: 500,
} as const

const words = (most: number, what: string) =>
  z
    .string()
    .max(
      most,
      `${what} may have ${most} characters at most; put what is longer into a file of the repository and name it`,
    )
    .refine((value) => value.trim() !== '', `${what} must not be empty`)

const { question, context, options, label } = QUESTION_LIMITS

export const AskQuestion = z.object({
  question: words(question, 'question').describe('One decision, as one question.'),
  context: z
    .string()
    .max(context, `context may have ${context} characters at most`)
    .optional()
    .describe('What the person needs to know to decide without opening the session.'),
  options: z
    .array(
      z.object({
        label: words(label, 'a label'),
        detail: z.string().max(5_000).optional().describe('What happens with this choice.'),
        recommended: z.boolean().optional(),
      }),
    )
    .max(options, `at most ${options} options; keep the ones that matter`)
    .optional(),
  multiple: z.boolean().optional().describe('Several options may be chosen.'),
  urgency: Urgency.optional(),
})
export type AskQuestion = z.infer<typeof AskQuestion>

export const RecordAssumption = z.object({
  assumption: words(10_000, 'assumption').describe('What you decided, as one sentence.'),
  reason: words(10_000, 'reason'),
  alternatives: z.array(words(2_000, 'an alternative')).max(10).optional(),
  reversible_by: z.string().max(5_000).optional().describe('How it can be undone later.'),
})
export type RecordAssumption = z.infer<typeof RecordAssumption>

export const ReportProgress = z
  .object({
    summary: words(2_000, 'summary'),
    done: z.number().min(0).optional(),
    total: z.number().min(0).optional(),
  })
  .refine(
    ({ done, total }) => done === undefined || total === undefined || done <= total,
    'done must not be greater than total',
  )
export type ReportProgress = z.infer<typeof ReportProgress>

export const CompleteStage = z.object({
  summary: words(20_000, 'summary').describe('What was done, what was checked, what is open.'),
  outcome: StageOutcome,
})
export type CompleteStage = z.infer<typeof CompleteStage>

/** A call of one of Ballet's tools that its schema let through, with the id of what it makes. */
export const McpCall = z.discriminatedUnion('tool', [
  z.object({ tool: z.literal('ask_question'), question: QuestionId, asked: AskQuestion }),
  z.object({
    tool: z.literal('record_assumption'),
    assumption: AssumptionId,
    recorded: RecordAssumption,
  }),
  z.object({ tool: z.literal('report_progress'), progress: ReportProgress }),
  z.object({ tool: z.literal('complete_stage'), completed: CompleteStage }),
])
export type McpCall = z.infer<typeof McpCall>
