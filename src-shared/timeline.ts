import { z } from 'zod'
import { AssumptionId, BlobId, InputId, Instant, QuestionId, RequestId, SessionId } from './ids.ts'
import { Citation, QuestionOption, Urgency } from './questions.ts'
import {
  Author,
  InputImage,
  InputKind,
  Progress,
  RequestOutcome,
  SessionState,
  StageOutcome,
  ToolKind,
  Usage,
} from './records.ts'
import { RuntimeName } from './runtimes.ts'

/** A larger text of an event is cut here and kept whole in a blob. */
export const INLINE_LIMIT_BYTES = 16 * 1024

export const ToolStatus = z.enum(['ok', 'error', 'cancelled', 'unknown'])
export type ToolStatus = z.infer<typeof ToolStatus>

export const TurnEndReason = z.enum(['completed', 'interrupted', 'failed', 'limit', 'killed'])
export type TurnEndReason = z.infer<typeof TurnEndReason>

/** One changed file of an edit, as hunks of a unified diff. */
export const FileDiff = z.object({
  path: z.string(),
  /** Unified diff hunks (`@@ … @@` and lines that begin with a space, `+` or `-`), without file headers. */
  patch: z.string(),
  added: z.int().min(0),
  removed: z.int().min(0),
})
export type FileDiff = z.infer<typeof FileDiff>

export const TodoItem = z.object({
  text: z.string(),
  status: z.enum(['pending', 'active', 'done']),
})
export type TodoItem = z.infer<typeof TodoItem>

export const StepStatus = z.enum(['started', 'done', 'failed'])

/**
 * `turn` counts from 1; `parent` is the call id of the tool call whose subagent made the event.
 * `ref` is the runtime's own name of what the event tells; after a crash it shows what is stored already.
 */
const place = {
  turn: z.int().min(1).optional(),
  parent: z.string().optional(),
  ref: z.string().optional(),
}

/** `block` joins a finished block with the live deltas that were shown of it. */
const textBlock = {
  ...place,
  text: z.string(),
  textBlob: BlobId.optional(),
  block: z.string().optional(),
  partial: z.boolean().optional(),
}

const inputFields = {
  input: InputId,
  inputKind: InputKind,
  text: z.string(),
  textBlob: BlobId.optional(),
  /** None when absent. */
  images: z.array(InputImage).optional(),
  author: Author,
}

/** The running turn took it, or is meant to: it did not begin a turn of its own. */
const steered = { steer: z.literal(true).optional() }

const step = {
  step: z.string(),
  status: StepStatus,
  durationMs: z.number().min(0).optional(),
  detail: z.string().optional(),
}

const kind = <K extends string>(name: K) => z.literal(name)

/** Events that an agent makes of what its runtime and its workspace did. */
export const agentEventBodies = [
  z.object({ kind: kind('turn.started'), ...place, inputs: z.array(InputId) }),
  z.object({
    kind: kind('turn.ended'),
    ...place,
    reason: TurnEndReason,
    durationMs: z.number().min(0),
    /** Of this turn alone. */
    usage: Usage,
    costUsd: z.number().min(0),
    /** What went wrong and what to do, for `failed`, `limit` and `killed`. */
    detail: z.string().optional(),
    hint: z.string().optional(),
    /** Of an interrupted one: the runtime did not end it in order, and may not have recorded what it began with. */
    cut: z.literal(true).optional(),
  }),
  z.object({ kind: kind('assistant.text'), ...textBlock }),
  z.object({ kind: kind('assistant.thinking'), ...textBlock }),
  z.object({
    kind: kind('tool.call'),
    ...place,
    callId: z.string(),
    name: z.string(),
    toolKind: ToolKind,
    /** One line that says what it does: the command, the file, the pattern. */
    title: z.string(),
    /** The arguments as JSON text, cut at the inline limit. */
    input: z.string(),
    inputBlob: BlobId.optional(),
  }),
  z.object({
    kind: kind('tool.result'),
    ...place,
    callId: z.string(),
    status: ToolStatus,
    output: z.string(),
    outputBlob: BlobId.optional(),
    /** Bytes of the whole output. */
    outputBytes: z.int().min(0).optional(),
    diff: z.array(FileDiff).optional(),
    durationMs: z.number().min(0).optional(),
  }),
  z.object({ kind: kind('todo'), ...place, items: z.array(TodoItem) }),
  z.object({
    kind: kind('cost'),
    ...place,
    usage: Usage,
    /** Of the session so far, with what earlier leases spent. */
    costUsd: z.number().min(0),
    contextTokens: z.int().min(0).optional(),
    contextWindow: z.int().min(0).optional(),
  }),
  z.object({
    kind: kind('request.opened'),
    ...place,
    request: RequestId,
    callId: z.string(),
    name: z.string().optional(),
    toolKind: ToolKind,
    title: z.string(),
    input: z.string(),
    inputBlob: BlobId.optional(),
  }),
  z.object({ kind: kind('park.step'), ...place, ...step }),
  z.object({ kind: kind('resume.step'), ...place, ...step }),
  z.object({
    kind: kind('notice'),
    ...place,
    level: z.enum(['info', 'warning', 'error']),
    /** Stable, such as `model.retry`, `rate-limit`, `compaction`, `runtime.unknown`, `workspace.clone`. */
    code: z.string(),
    text: z.string(),
    textBlob: BlobId.optional(),
  }),
] as const

/** Events that Core makes itself, also while no agent holds the session. */
export const coreEventBodies = [
  z.object({
    kind: kind('session.state'),
    ...place,
    from: SessionState.nullable(),
    to: SessionState,
    reason: z.string(),
  }),
  /** From here on another runtime or model goes on, in a new conversation. The old runtime keeps the old one. */
  z.object({
    kind: kind('runtime.changed'),
    ...place,
    from: RuntimeName,
    to: RuntimeName,
    model: z.string().nullable(),
    /** The runtime's own id of the old conversation; null when there was none. */
    conversation: z.string().nullable(),
  }),
  /**
   * An input is in the queue with this text. The same input again: it came back to the queue, or a person changed it
   * there, as `change` says; shown once, as its last event has it. Moved: to right before the input `before`, or to
   * the end where that is null.
   */
  z.object({
    kind: kind('input.queued'),
    ...place,
    ...inputFields,
    change: z.enum(['edited', 'moved']).optional(),
    before: InputId.nullable().optional(),
  }),
  /** With `steer`: handed over in the middle of a turn, to be taken after the current tool call. */
  z.object({ kind: kind('input.sent'), ...place, ...inputFields, ...steered }),
  /**
   * With `steer`: the running turn took it. Without, also where it was sent so: the turn was over, and it began the
   * next one, whose `turn.started` lists it.
   */
  z.object({ kind: kind('input.delivered'), ...place, ...inputFields, ...steered }),
  z.object({ kind: kind('input.cancelled'), ...place, ...inputFields }),
  z.object({ kind: kind('input.unknown'), ...place, ...inputFields }),
  z.object({
    kind: kind('request.closed'),
    ...place,
    request: RequestId,
    outcome: RequestOutcome,
    author: Author,
    text: z.string().optional(),
  }),
  z.object({
    kind: kind('question.asked'),
    ...place,
    question: QuestionId,
    key: z.string(),
    text: z.string(),
    textBlob: BlobId.optional(),
    context: z.string().optional(),
    contextBlob: BlobId.optional(),
    options: z.array(QuestionOption),
    multiple: z.boolean(),
    urgency: Urgency,
  }),
  /** The planner is done with it: it answered, or the question goes to the person with what it came to. */
  z.object({
    kind: kind('question.planned'),
    ...place,
    question: QuestionId,
    key: z.string(),
    outcome: z.enum(['answered', 'draft', 'undecided', 'failed', 'off']),
    draft: z.string().optional(),
    citations: z.array(Citation),
    /** Every quote was found in its source. */
    verified: z.boolean(),
    /** Why it did not answer; empty where it did. */
    reason: z.string(),
    durationMs: z.number().min(0).optional(),
    costUsd: z.number().min(0).optional(),
  }),
  /** A second one of the same question, by a person: the planner's answer was overturned. */
  z.object({
    kind: kind('question.answered'),
    ...place,
    question: QuestionId,
    key: z.string(),
    text: z.string(),
    textBlob: BlobId.optional(),
    options: z.array(z.int().min(1)),
    author: Author,
    citations: z.array(Citation),
    declined: z.boolean(),
    overturns: z.literal(true).optional(),
  }),
  z.object({
    kind: kind('question.withdrawn'),
    ...place,
    question: QuestionId,
    key: z.string(),
    reason: z.string(),
  }),
  z.object({
    kind: kind('assumption'),
    ...place,
    id: AssumptionId,
    assumption: z.string(),
    reason: z.string(),
    alternatives: z.array(z.string()),
    reversibleBy: z.string().optional(),
  }),
  z.object({
    kind: kind('assumption.reviewed'),
    ...place,
    id: AssumptionId,
    assumption: z.string(),
    outcome: z.enum(['confirmed', 'overturned']),
    author: Author,
    text: z.string().optional(),
  }),
  z.object({ kind: kind('progress'), ...place, ...Progress.shape }),
  z.object({
    kind: kind('stage.completed'),
    ...place,
    summary: z.string(),
    textBlob: BlobId.optional(),
    outcome: StageOutcome,
  }),
] as const

export const AgentEventBody = z.discriminatedUnion('kind', agentEventBodies)
export type AgentEventBody = z.infer<typeof AgentEventBody>

export const CoreEventBody = z.discriminatedUnion('kind', coreEventBodies)
export type CoreEventBody = z.infer<typeof CoreEventBody>

export const EventBody = z.discriminatedUnion('kind', [...agentEventBodies, ...coreEventBodies])
export type EventBody = z.infer<typeof EventBody>
export type EventKind = EventBody['kind']

/** What every event carries besides its body. `seq` starts at 1 in each session and has no gap. */
export const EventHead = z.object({ session: SessionId, seq: z.int().min(1), at: Instant })

/** One entry of a session's timeline, as stored and as every client gets it. */
export const TimelineEvent = z.intersection(EventHead, EventBody)
export type TimelineEvent = z.infer<typeof EventHead> & EventBody

/** The unfinished block of a running turn, shown and never stored. */
export const LiveBlock = z.object({
  block: z.string(),
  kind: z.enum(['assistant.text', 'assistant.thinking', 'tool.output']),
  turn: z.int().min(1).optional(),
  parent: z.string().optional(),
  /** For `tool.output`: the call whose output grows. */
  callId: z.string().optional(),
  text: z.string(),
})
export type LiveBlock = z.infer<typeof LiveBlock>
