import type {
  Author,
  InputImage,
  InputKind,
  InputState,
  SessionState,
  StageOutcome,
  ToolKind,
  Usage,
} from '../../src-shared/records.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import type {
  FileDiff,
  TimelineEvent,
  TodoItem,
  ToolStatus,
  TurnEndReason,
} from '../../src-shared/timeline.ts'

/** `key` stays the same while a row grows, is finished and gets its result. `at` is null while live. */
type RowPlace = { key: string; seq: number | null; at: string | null; turn: number | undefined }

type Event<K extends TimelineEvent['kind']> = Extract<TimelineEvent, { kind: K }>

export type TurnEnd = {
  reason: TurnEndReason
  durationMs: number
  usage: Usage
  costUsd: number
  detail: string | undefined
  hint: string | undefined
}

export type TurnRow = RowPlace & { kind: 'turn'; end: TurnEnd | null }

export type InputRow = RowPlace & {
  kind: 'input'
  input: string
  inputKind: InputKind
  text: string
  textBlob: string | undefined
  images: readonly InputImage[]
  author: Author
  state: InputState
  /** It was handed over in the middle of the turn that it stands in. */
  steer: boolean
}

export type ProseRow = RowPlace & {
  kind: 'text' | 'thinking'
  text: string
  textBlob: string | undefined
  partial: boolean
  live: boolean
}

export type ToolResult = {
  status: ToolStatus
  output: string
  outputBlob: string | undefined
  outputBytes: number | undefined
  diff: FileDiff[]
  durationMs: number | undefined
  at: string
}

/** What a runtime asked before a call, and how that ended; the last time it asked. */
export type Asked = {
  asked: Extract<TimelineEvent, { kind: 'request.opened' }>
  answer: Extract<TimelineEvent, { kind: 'request.closed' }> | null
}

export type ToolRow = RowPlace & {
  kind: 'tool'
  ref: string | undefined
  callId: string
  name: string
  toolKind: ToolKind
  title: string
  input: string
  inputBlob: string | undefined
  result: ToolResult | null
  /** The permission that it needed; null where it needed none. */
  permission: Asked | null
  /** What it wrote so far, while it runs. */
  liveOutput: string | null
  /** What the subagent of this call did. */
  children: readonly Row[]
}

export type TodoRow = RowPlace & { kind: 'todo'; items: TodoItem[]; latest: boolean }

export type NoticeRow = RowPlace & {
  kind: 'notice'
  level: 'info' | 'warning' | 'error'
  code: string
  text: string
  textBlob: string | undefined
}

export type StateRow = RowPlace & {
  kind: 'state'
  from: SessionState | null
  to: SessionState
  reason: string
}

/** From here on another runtime or model goes on. */
export type RuntimeRow = RowPlace & {
  kind: 'runtime'
  from: RuntimeName
  to: RuntimeName
  model: string | null
}

export type EndedRow = RowPlace & { kind: 'ended'; end: TurnEnd }

export type StepEvent = Event<'park.step' | 'resume.step'>

/** The steps of one parking, or of one resuming, each as it was told last. */
export type StepsRow = RowPlace & {
  kind: 'steps'
  saga: 'park' | 'resume'
  steps: readonly StepEvent[]
}

/** A permission request whose call is not loaded. */
export type RequestRow = RowPlace & { kind: 'request'; permission: Asked }

/** What an agent asked, and what came of it; `answers` holds a second one where a person overturned the first. */
export type QuestionRow = RowPlace & {
  kind: 'question'
  asked: Event<'question.asked'>
  planned: Event<'question.planned'> | null
  answers: readonly Event<'question.answered'>[]
  withdrawn: Event<'question.withdrawn'> | null
}

export type AssumptionRow = RowPlace & {
  kind: 'assumption'
  recorded: Event<'assumption'>
  reviewed: Event<'assumption.reviewed'> | null
}

export type ProgressRow = RowPlace & {
  kind: 'progress'
  summary: string
  done: number | undefined
  total: number | undefined
}

/** How the agent says that its stage ended. */
export type CompletedRow = RowPlace & {
  kind: 'completed'
  summary: string
  textBlob: string | undefined
  outcome: StageOutcome
}

/** One entry of a session's timeline as it is drawn. */
export type Row =
  | TurnRow
  | InputRow
  | ProseRow
  | ToolRow
  | TodoRow
  | NoticeRow
  | StateRow
  | RuntimeRow
  | EndedRow
  | StepsRow
  | RequestRow
  | QuestionRow
  | AssumptionRow
  | ProgressRow
  | CompletedRow
