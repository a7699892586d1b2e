import type { RequestFacts, SessionGrant } from '../../src-shared/agent-wire.ts'
import type {
  AgentId,
  AssumptionId,
  BlobId,
  DeliveryId,
  InputId,
  Instant,
  LeaseId,
  ProjectId,
  QuestionId,
  RequestId,
  SessionId,
  TicketId,
  TicketKey,
} from '../../src-shared/ids.ts'
import type { ParkedWork, ParkReason } from '../../src-shared/parking.ts'
import type {
  AssumptionState,
  PlannerDraft,
  QuestionAnswer,
  QuestionOption,
  QuestionState,
  Urgency,
} from '../../src-shared/questions.ts'
import type {
  Author,
  InputImage,
  InputKind,
  InputState,
  NotificationKind,
  PermissionMode,
  Progress,
  RequestState,
  SessionState,
  Stage,
  StageOutcome,
  StageSettings,
  TicketStatus,
  ToolKind,
  Usage,
} from '../../src-shared/records.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'

export type ProjectRow = {
  id: ProjectId
  key: string
  name: string
  repo: string
  branch: string
  runtime: RuntimeName
  permission: PermissionMode
  model: string | null
  runtimeArgs: readonly string[]
  setup: string | null
  setupLimit: string
  stages: Readonly<Record<Stage, StageSettings>>
  env: Readonly<Record<string, string>>
  window: string
  maxSessions: number | null
  sources: readonly string[]
  /** The planner tries to answer its questions first. */
  planner: boolean
  skill: string | null
  notify: readonly NotificationKind[]
  /** The number of the next ticket. */
  nextNumber: number
  createdAt: Instant
}

export type TicketRow = {
  id: TicketId
  projectId: ProjectId
  key: TicketKey
  title: string
  body: string
  status: TicketStatus
  stage: Stage
  priority: number
  /** How many questions were asked for it; numbers the next one. */
  questions: number
  createdAt: Instant
  updatedAt: Instant
}

/** One parking, from its beginning until it is stored or refused. */
export type ParkSaga = {
  id: string
  why: ParkReason
  fast: boolean
  /** Number of the event that began it: inputs of later ones came meanwhile. */
  seq: number
  /** Somebody wants it back: it is, as soon as it is parked. */
  resumes: boolean
  /** It waited for nothing but a word of a person when it began. */
  waited?: true
}

/** What is kept of a session that was parked. */
export type KeptWork = {
  why: ParkReason
  at: Instant
  work: ParkedWork
  /** The session runs again in a workspace of its own: what is kept is behind it. */
  restored: boolean
  /** Since then it pushed more than what is kept. */
  hasPushed?: boolean
  /** Since then a finish put all of the work on the remote, and went on to remove the workspace. */
  finished?: true
  /** A file of it could not be opened when it was last to be restored or pushed. */
  damaged?: true
  /** A person goes on without files of it that are damaged. */
  withoutDamaged?: true
  /** Names of files of it without which it was restored. */
  leftOut?: readonly string[]
}

/** Another runtime or model that is to go on with a session. */
export type ContinueWith = {
  runtime: RuntimeName
  /** What people called it then; absent in rows of earlier versions. */
  title?: string
  /** What it is to run with; null: the runtime's own choice. */
  model: string | null
  /** As the person said it; null: what project and stage say. */
  chosenModel: string | null
  /** The agent that holds the session was told to let go. */
  told: boolean
}

/** One that a runtime keeps by itself. */
export type PastConversation = { runtime: RuntimeName; conversation: string }

export type SessionRow = {
  id: SessionId
  ticketId: TicketId
  projectId: ProjectId
  stage: Stage
  runtime: RuntimeName
  runtimeVersion: string | null
  model: string | null
  /** A model that a person chose for this session alone; null: what project and stage say. */
  chosenModel: string | null
  permission: PermissionMode
  conversation: string | null
  /** Those that it had before, oldest first. */
  conversations: readonly PastConversation[]
  /** It goes on with this as soon as no agent holds it; null: as it is. */
  continueWith: ContinueWith | null
  state: SessionState
  stateSince: Instant
  reason: string
  hint: string
  /** The lease that runs it now; null while no agent holds it. */
  leaseId: LeaseId | null
  agent: AgentId | null
  branch: string
  baseCommit: string | null
  pushedCommit: string | null
  /** Absolute path; null once the workspace is removed. */
  workspace: string | null
  /** Its own online window; null: the project's. */
  window: string | null
  parkAt: Instant | null
  /** The first deadline of this wait: how far it may be moved counts from here. */
  parkFrom: Instant | null
  /** The parking that is under way; null when none is. */
  saga: ParkSaga | null
  parked: KeptWork | null
  /** It was working when it was parked for a drain, and goes on by itself after the next start. */
  wakes: boolean
  turn: number
  turnStartedAt: Instant | null
  /** The last turn was cut, and the runtime has not been told yet. */
  turnCut: boolean
  /** The runtime's own record holds something of the conversation. */
  recorded: boolean
  /** What else the runtime is to be told before the next input; null for nothing. */
  preface: string | null
  /** What was asked for and is not done yet. */
  pending: 'interrupt' | 'stop' | 'finish' | 'continue' | null
  /** What a person allowed for the rest of the session. */
  grants: readonly SessionGrant[]
  /** What the agent reported last. */
  progress: Progress | null
  /** How the agent said that its stage ended; null again from the next message on. */
  outcome: StageOutcome | null
  /** The agent's words on it; of the last one where `outcome` is null. */
  outcomeText: string
  costUsd: number
  usage: Usage
  contextTokens: number | null
  contextWindow: number | null
  /** When it began to wait for an agent; orders the queue. */
  queuedAt: Instant | null
  createdAt: Instant
  updatedAt: Instant
}

export type InputRow = {
  id: InputId
  sessionId: SessionId
  inputKind: InputKind
  state: InputState
  text: string
  /** Each is a blob of the session. */
  images: readonly InputImage[]
  author: Author
  /** Handed over in the middle of a turn that others began. */
  steer: boolean
  /** Orders the queue of a session. */
  position: number
  delivery: DeliveryId | null
  createdAt: Instant
  updatedAt: Instant
}

export type RequestRow = {
  id: RequestId
  sessionId: SessionId
  callId: string
  name: string
  toolKind: ToolKind
  title: string
  /** Cut at the inline limit; `inputBlob` of the session is then the whole. */
  input: string
  inputBlob: BlobId | null
  facts: RequestFacts
  state: RequestState
  /**
   * `waits`: the runtime that asked waits, or whether it has the answer is not known yet.
   * `gone`: it is gone, and nobody has answered. `allows-once`: it was gone when the request was allowed, and the
   * identical call is allowed once. `over`: nothing comes of it any more.
   */
  phase: 'waits' | 'gone' | 'allows-once' | 'over'
  author: Author | null
  text: string | null
  turn: number | null
  createdAt: Instant
  answeredAt: Instant | null
}

export type QuestionRow = {
  id: QuestionId
  sessionId: SessionId
  ticketId: TicketId
  projectId: ProjectId
  /** The ticket's key and a number. */
  key: string
  question: string
  context: string | null
  options: readonly QuestionOption[]
  multiple: boolean
  urgency: Urgency
  state: QuestionState
  heldBy: 'planner' | 'person'
  /**
   * `runs`: the planner tries, or is about to. `left`: nobody waits for it any more, and its processes may still be
   * there. `over`: they are not, or it never began.
   */
  planner: 'runs' | 'left' | 'over'
  /** Of the marker of everything that the planner starts. */
  nonce: string
  draft: PlannerDraft | null
  answer: QuestionAnswer | null
  /** The answer is held until then; `held` says what comes of it. */
  undoUntil: Instant | null
  held: { sendNow: boolean; resume: boolean } | null
  /** The input that carries the answer. */
  inputId: InputId | null
  overturned: QuestionAnswer | null
  /** Why it was withdrawn. */
  withdrawn: string | null
  turn: number | null
  createdAt: Instant
  reachedPersonAt: Instant | null
  answeredAt: Instant | null
}

export type AssumptionRow = {
  id: AssumptionId
  sessionId: SessionId
  ticketId: TicketId
  projectId: ProjectId
  assumption: string
  reason: string
  alternatives: readonly string[]
  reversibleBy: string | null
  state: AssumptionState
  /** The correction. */
  text: string | null
  turn: number | null
  createdAt: Instant
  reviewedAt: Instant | null
}

/** One agent's hold on one session. The token grows with each lease of a session: the greatest one counts. */
export type LeaseRow = {
  id: LeaseId
  sessionId: SessionId
  agent: AgentId
  token: number
  nonce: string
  /** Number of the last stored item. */
  lastItem: number
  grantedAt: Instant
  endedAt: Instant | null
  endReason: string | null
  /** True once it was verified that no process carries its marker. */
  reaped: boolean
}

type Tables = {
  project: ProjectRow
  ticket: TicketRow
  session: SessionRow
  input: InputRow
  request: RequestRow
  question: QuestionRow
  assumption: AssumptionRow
  lease: LeaseRow
}

export type TableName = keyof Tables
export type RowOf<T extends TableName> = Tables[T]
/** `lastSeq` of a session is kept by storage as its timeline grows, without a new version. */
export type StoredRow<T extends TableName> = RowOf<T> & {
  version: number
  change: number
} & (T extends 'session' ? { lastSeq: number } : unknown)
