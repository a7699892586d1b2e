import { z } from 'zod'
import {
  AssumptionId,
  BlobId,
  InputId,
  Instant,
  ProjectId,
  QuestionId,
  SessionId,
  TicketId,
  TicketKey,
} from './ids.ts'
import { Author } from './records.ts'

/** How soon an asker needs the answer; orders the inbox. */
export const Urgency = z.enum(['low', 'normal', 'high'])
export type Urgency = z.infer<typeof Urgency>

export const QuestionOption = z.object({
  label: z.string(),
  detail: z.string().optional(),
  /** The asker would take this one. */
  recommended: z.boolean().default(false),
})
export type QuestionOption = z.infer<typeof QuestionOption>

export const QuestionState = z.enum(['open', 'answered', 'withdrawn'])
export type QuestionState = z.infer<typeof QuestionState>

/** A passage that an answer rests on. */
export const Citation = z.object({
  /** The file: relative to the repository, or as the project names a source outside it. */
  source: z.string(),
  /** Where in it, in the planner's words. */
  place: z.string(),
  quote: z.string(),
  /** The quote was found in the source (white space folded, nothing else). */
  verified: z.boolean(),
  /** Of the quote's first line in the source, from 1; only of a verified one. */
  line: z.int().min(1).optional(),
  /** The source as it was read, a blob of the session; absent where there is none of that name. */
  blob: BlobId.optional(),
})
export type Citation = z.infer<typeof Citation>

/** What the planner came to, shown beside the question where it was not sent as the answer. */
export const PlannerDraft = z.object({
  /** Null: it could not decide. */
  answer: z.string().nullable(),
  citations: z.array(Citation),
  /** Why it is a draft and no answer: undecided, a quote that is not there, no citation, switched off, failed, too slow. */
  reason: z.string(),
})
export type PlannerDraft = z.infer<typeof PlannerDraft>

export const QuestionAnswer = z.object({
  /** The whole answer as people read it: the labels that were chosen, then the free text. */
  text: z.string(),
  /** Numbers of the chosen options, from 1. */
  options: z.array(z.int().min(1)),
  author: Author,
  citations: z.array(Citation),
  /** “Decide yourself”. */
  declined: z.boolean(),
})
export type QuestionAnswer = z.infer<typeof QuestionAnswer>

/** Asked by an agent. A row, never a promise: its answer is the next user message of its session. */
export const Question = z.object({
  id: QuestionId,
  /** The ticket's key and a number: `SHOP-14-Q2`. */
  key: z.string(),
  session: SessionId,
  ticket: TicketKey,
  ticketId: TicketId,
  project: z.string(),
  projectId: ProjectId,
  question: z.string(),
  context: z.string().nullable(),
  options: z.array(QuestionOption),
  /** Several options may be chosen. */
  multiple: z.boolean(),
  urgency: Urgency,
  state: QuestionState,
  /** Who has it while it is open: the planner first, then a person. */
  heldBy: z.enum(['planner', 'person']),
  draft: PlannerDraft.nullable(),
  answer: QuestionAnswer.nullable(),
  /** Until then the answer can be taken back, and the session does not have it yet; null otherwise. */
  undoUntil: Instant.nullable(),
  /** The input that carries the answer; null while it waits for the other questions of its turn. */
  input: InputId.nullable(),
  /** An answer of the planner that a person replaced. */
  overturned: QuestionAnswer.nullable(),
  turn: z.int().min(1).nullable(),
  createdAt: Instant,
  /** When it reached the person; null while the planner tries, or where a person never had it. */
  reachedPersonAt: Instant.nullable(),
  answeredAt: Instant.nullable(),
})
export type Question = z.infer<typeof Question>

export const AssumptionState = z.enum(['open', 'confirmed', 'overturned'])
export type AssumptionState = z.infer<typeof AssumptionState>

/** A decision that the agent took itself; open until a person looked it over. */
export const Assumption = z.object({
  id: AssumptionId,
  session: SessionId,
  ticket: TicketKey,
  ticketId: TicketId,
  project: z.string(),
  projectId: ProjectId,
  assumption: z.string(),
  reason: z.string(),
  alternatives: z.array(z.string()),
  reversibleBy: z.string().nullable(),
  state: AssumptionState,
  /** The correction; only of an overturned one. */
  text: z.string().nullable(),
  turn: z.int().min(1).nullable(),
  createdAt: Instant,
  reviewedAt: Instant.nullable(),
})
export type Assumption = z.infer<typeof Assumption>
