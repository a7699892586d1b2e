import { z } from 'zod'
import { RequestFacts, SessionGrant } from '../../src-shared/agent-wire.ts'
import {
  AssumptionId,
  BlobId,
  DeliveryId,
  InputId,
  Instant,
  QuestionId,
  RequestId,
  SessionId,
  TicketId,
  TicketKey,
} from '../../src-shared/ids.ts'
import { ParkedWork, ParkReason } from '../../src-shared/parking.ts'
import {
  AssumptionState,
  PlannerDraft,
  QuestionAnswer,
  QuestionOption,
  QuestionState,
  Urgency,
} from '../../src-shared/questions.ts'
import {
  Author,
  InputImage,
  InputKind,
  InputState,
  PermissionMode,
  Priority,
  Progress,
  RequestState,
  Stage,
  StageOutcome,
  ToolKind,
  Usage,
} from '../../src-shared/records.ts'
import { RuntimeName } from '../../src-shared/runtimes.ts'

/** Grows when an older Ballet could not read what is written. */
export const EXPORT_VERSION = 1

/** The files of an exported session, beside what an agent adds; blobs are named by their ids. */
export const EXPORT_FILES = { rows: 'session.json', timeline: 'timeline.jsonl', blobs: 'blobs' }

const counted = z.int().min(0)
const turn = z.int().nullable()
const given = { id: z.string(), createdAt: Instant }

const TicketPart = z.object({
  ...given,
  id: TicketId,
  key: TicketKey,
  title: z.string(),
  body: z.string(),
  stage: Stage,
  priority: Priority,
  questions: counted,
})

const SessionPart = z.object({
  ...given,
  id: SessionId,
  stage: Stage,
  runtime: RuntimeName,
  runtimeVersion: z.string().nullable(),
  model: z.string().nullable(),
  chosenModel: z.string().nullable().optional(),
  permission: PermissionMode,
  conversation: z.string().nullable(),
  branch: z.string().regex(/^ballet\//),
  baseCommit: z.string().nullable(),
  pushedCommit: z.string().nullable(),
  window: z.string().nullable(),
  turn: counted,
  turnCut: z.boolean(),
  /** A file of an earlier Ballet does not say. */
  recorded: z.boolean().optional(),
  preface: z.string().nullable(),
  grants: z.array(SessionGrant),
  progress: Progress.nullable(),
  outcome: StageOutcome.nullable(),
  outcomeText: z.string(),
  costUsd: z.number(),
  usage: Usage,
  contextTokens: counted.nullable(),
  contextWindow: counted.nullable(),
})

const InputPart = z.object({
  ...given,
  id: InputId,
  inputKind: InputKind,
  state: InputState,
  text: z.string(),
  images: z.array(InputImage),
  author: Author,
  steer: z.boolean(),
  position: z.number(),
  delivery: DeliveryId.nullable(),
  updatedAt: Instant,
})

const RequestPart = z.object({
  ...given,
  id: RequestId,
  callId: z.string(),
  name: z.string(),
  toolKind: ToolKind,
  title: z.string(),
  input: z.string(),
  inputBlob: BlobId.nullable(),
  facts: RequestFacts,
  state: RequestState,
  phase: z.enum(['waits', 'gone', 'allows-once', 'over']),
  author: Author.nullable(),
  text: z.string().nullable(),
  turn,
  answeredAt: Instant.nullable(),
})

const QuestionPart = z.object({
  ...given,
  id: QuestionId,
  key: z.string(),
  question: z.string(),
  context: z.string().nullable(),
  options: z.array(QuestionOption),
  multiple: z.boolean(),
  urgency: Urgency,
  state: QuestionState,
  draft: PlannerDraft.nullable(),
  answer: QuestionAnswer.nullable(),
  inputId: InputId.nullable(),
  overturned: QuestionAnswer.nullable(),
  withdrawn: z.string().nullable(),
  turn,
  reachedPersonAt: Instant.nullable(),
  answeredAt: Instant.nullable(),
})

const AssumptionPart = z.object({
  ...given,
  id: AssumptionId,
  assumption: z.string(),
  reason: z.string(),
  alternatives: z.array(z.string()),
  reversibleBy: z.string().nullable(),
  state: AssumptionState,
  text: z.string().nullable(),
  turn,
  reviewedAt: Instant.nullable(),
})

/** The rows of a session as they leave a data folder: nothing of its host, its project's settings or its agents. */
export const ExportedRows = z.object({
  version: z.literal(EXPORT_VERSION),
  exportedAt: Instant,
  /** The remote, without a password, and the branch that the work started from. */
  repo: z.string(),
  baseBranch: z.string(),
  /** Of the project it comes from. */
  projectKey: z.string(),
  ticket: TicketPart,
  session: SessionPart,
  inputs: z.array(InputPart),
  requests: z.array(RequestPart),
  questions: z.array(QuestionPart),
  assumptions: z.array(AssumptionPart),
  /** Its files are the ones of the host that it leaves. */
  parked: z.object({ why: ParkReason, at: Instant, work: ParkedWork }),
  /** Number of the last event. */
  lastSeq: counted,
})
export type ExportedRows = z.infer<typeof ExportedRows>
