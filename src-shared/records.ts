import { z } from 'zod'
import { Duration, parseDuration } from './duration.ts'
import {
  AgentId,
  BlobId,
  DeliveryId,
  InputId,
  Instant,
  ProjectId,
  RequestId,
  SessionId,
  TicketId,
  TicketKey,
} from './ids.ts'
import { oneLine } from './one-line.ts'
import { Parked } from './parking.ts'
import { RuntimeName } from './runtimes.ts'

/** How much a runtime may do without asking. */
export const PermissionMode = z.enum(['ask', 'edits', 'full'])
export type PermissionMode = z.infer<typeof PermissionMode>

export const Stage = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/)
export type Stage = z.infer<typeof Stage>

export const TicketStatus = z.enum([
  'Backlog',
  'Ready',
  'In progress',
  'Waiting for answer',
  'Review',
  'Done',
  'Cancelled',
])
export type TicketStatus = z.infer<typeof TicketStatus>

export const SessionState = z.enum([
  'queued',
  'starting',
  'working',
  'waiting',
  'parking',
  'parked',
  'resuming',
  'finished',
  'failed',
  'cancelled',
  /** It goes on in another data folder. */
  'moved',
])
export type SessionState = z.infer<typeof SessionState>

export const AgentState = z.enum(['idle', 'busy', 'draining', 'offline'])
export type AgentState = z.infer<typeof AgentState>

export const InputKind = z.enum(['message', 'interrupt', 'answer'])
export type InputKind = z.infer<typeof InputKind>

/** An image of a message; its base64 text is the session's blob of that id. */
export const InputImage = z.object({
  blob: BlobId,
  mediaType: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  /** Of the image itself. */
  bytes: z.int().min(1),
})
export type InputImage = z.infer<typeof InputImage>

export const InputState = z.enum(['queued', 'sent', 'delivered', 'cancelled', 'unknown'])
export type InputState = z.infer<typeof InputState>

/** Who gave an input or an answer: a person, Core on a person's behalf, or the planner with citations. */
export const Author = z.enum(['person', 'ballet', 'planner'])
export type Author = z.infer<typeof Author>

export const ToolKind = z.enum([
  'read',
  'edit',
  'search',
  'execute',
  'fetch',
  'mcp',
  'agent',
  'other',
])
export type ToolKind = z.infer<typeof ToolKind>

/** How a permission request ended. */
export const RequestOutcome = z.enum(['allowed', 'allowed-for-session', 'denied', 'withdrawn'])
export type RequestOutcome = z.infer<typeof RequestOutcome>

export const RequestState = z.enum(['open', ...RequestOutcome.options])
export type RequestState = z.infer<typeof RequestState>

/** 1 (urgent) to 5 (some day); 3 is normal. */
export const Priority = z.int().min(1).max(5)

/** Tokens of a turn or of a session so far. */
export const Usage = z.object({
  inputTokens: z.int().min(0),
  outputTokens: z.int().min(0),
  cacheReadTokens: z.int().min(0),
  cacheWriteTokens: z.int().min(0),
})
export type Usage = z.infer<typeof Usage>

/** How far a session's work is, in the agent's own words. */
export const Progress = z.object({
  summary: z.string(),
  done: z.number().min(0).optional(),
  total: z.number().min(0).optional(),
})
export type Progress = z.infer<typeof Progress>

/** How an agent says that its stage ended. */
export const StageOutcome = z.enum(['done', 'needs_review', 'failed'])
export type StageOutcome = z.infer<typeof StageOutcome>

/** What a person is told of by a desktop notification. */
export const NotificationKind = z.enum(['question', 'request', 'ended'])
export type NotificationKind = z.infer<typeof NotificationKind>

const environmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of an environment variable')

/** A set-up that may take no time at all fails every session. */
const setupLimit = Duration.refine((text) => {
  const ms = parseDuration(text)
  return ms === undefined || ms === null || ms >= 1_000
}, 'a set-up needs at least 1s; never is no limit')

/** A path or a pattern; what leads upwards would not be what it says. */
const projectSource = z
  .string()
  .trim()
  .max(2_000)
  .superRefine((source, context) => {
    const problem =
      source === ''
        ? 'the source "" is empty: name a path or a pattern'
        : source.split(/[\\/]/).includes('..')
          ? `the source ${JSON.stringify(source)} has “..” in it: name a path in the repository, or an absolute one`
          : null
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  })

/** What of a stage is not as the project has it. Model and arguments of the project are those of its runtime only. */
export const StageSettings = z.object({
  runtime: RuntimeName.optional(),
  model: z.string().trim().min(1).max(200).optional(),
  runtimeArgs: z.array(z.string().max(2_000)).max(50).optional(),
  /** Added to the project's own words. */
  skill: z.string().trim().min(1).max(50_000).optional(),
})
export type StageSettings = z.infer<typeof StageSettings>

/** What a person sets of a project. */
export const ProjectSettings = z.object({
  name: z.string().overwrite(oneLine).min(1, 'a project needs a name').max(80),
  /** Anything that git can fetch: a URL, `user@host:path`, or an absolute path. */
  repo: z.string().trim().min(1, 'a project needs a repository').max(2_000),
  /** The branch that work starts from; the remote's default branch when absent. */
  branch: z.string().trim().min(1).max(250).optional(),
  runtime: RuntimeName.default('claude-code'),
  permission: PermissionMode.default('full'),
  /** Passed to the runtime as it is; the runtime's own choice when absent. */
  model: z.string().trim().min(1).max(200).optional(),
  /** More arguments for the runtime's command line. */
  runtimeArgs: z.array(z.string().max(2_000)).max(50).default([]),
  /** A shell command that prepares a fresh workspace. */
  setup: z.string().trim().min(1).max(10_000).optional(),
  setupLimit: setupLimit.default('10m'),
  /** What is different in a stage; a stage that is not here is as the project is. */
  stages: z.record(Stage, StageSettings).default({}),
  env: z.record(environmentName, z.string().max(32_768)).default({}),
  window: Duration.default('10m'),
  /**
   * What the planner may read: paths and globs in the repository at the commit that the session began from, and absolute paths of files
   * and folders outside it.
   */
  sources: z.array(projectSource).max(100).default(['README*', '*.md', 'docs/**/*.md']),
  /** The planner tries to answer questions of this project first. */
  planner: z.boolean().default(true),
  /** The project's own words on when to assume and when to ask; added to Ballet's skill. */
  skill: z.string().trim().min(1).max(50_000).optional(),
  /** The kinds of desktop notifications that its sessions make. */
  notify: z
    .array(NotificationKind)
    .max(3)
    .default([...NotificationKind.options]),
  /** How many sessions of the project may hold an agent at once; no limit when absent. */
  maxSessions: z.int().min(1).max(100).optional(),
})
export type ProjectSettings = z.infer<typeof ProjectSettings>

/** A project as every client sees it. Values of `env` are masked; only their names are shown. */
export const Project = ProjectSettings.omit({ env: true }).extend({
  id: ProjectId,
  /** Upper-case letters and digits that begin its tickets' keys. */
  key: z.string(),
  branch: z.string(),
  // One that was made before has what was allowed then.
  setupLimit: Duration,
  sources: z.array(z.string()),
  envNames: z.array(z.string()),
  createdAt: Instant,
})
export type Project = z.infer<typeof Project>

export const Ticket = z.object({
  id: TicketId,
  key: TicketKey,
  /** The project's name. */
  project: z.string(),
  projectId: ProjectId,
  title: z.string(),
  body: z.string(),
  status: TicketStatus,
  stage: Stage,
  priority: Priority,
  createdAt: Instant,
  updatedAt: Instant,
})
export type Ticket = z.infer<typeof Ticket>

export const Session = z.object({
  id: SessionId,
  ticket: TicketKey,
  ticketId: TicketId,
  project: z.string(),
  projectId: ProjectId,
  title: z.string(),
  stage: Stage,
  runtime: RuntimeName,
  runtimeVersion: z.string().nullable(),
  model: z.string().nullable(),
  permission: PermissionMode,
  /** The runtime's own id of the conversation: a hint for the runtime, never the session's identity. */
  conversation: z.string().nullable(),
  state: SessionState,
  /** When it came into this state. */
  stateSince: Instant,
  /** Why it is in this state, for people; empty where the state says it all. */
  reason: z.string(),
  /** What a person can do next; empty where nothing is needed. */
  hint: z.string(),
  agent: AgentId.nullable(),
  branch: z.string(),
  /** What Ballet pushed last to the branch; absent while the branch is not on the remote. */
  pushedCommit: z.string().optional(),
  /** What a person asked for and is not done yet. */
  pending: z.enum(['interrupt', 'stop', 'finish', 'continue']).optional(),
  /** Set where its ticket is Done or Cancelled: nobody has anything to do for it, and it may be brought back. */
  ticketOver: z.literal(true).optional(),
  workspace: z.string().nullable(),
  /** Its own online window; null: the project's. */
  window: Duration.nullable(),
  /** When it parks unless somebody answers; null while it does not wait for a person, and where it never parks. */
  parkAt: Instant.nullable(),
  /** What is kept of it; null unless it was parked and its workspace is gone. */
  parked: Parked.nullable(),
  /** Questions that nobody answered yet, with those that the planner tries. */
  openQuestions: z.int().min(0),
  /** What the agent reported last; null when it reported nothing. */
  progress: Progress.nullable(),
  /** How the agent said that its stage ended; null while it has not, and after the next message. */
  outcome: StageOutcome.nullable(),
  /** Permission requests that nobody answered yet. */
  openRequests: z.int().min(0),
  queuedInputs: z.int().min(0),
  turn: z.int().min(0),
  /** When the running turn began; null between turns. */
  turnStartedAt: Instant.nullable(),
  costUsd: z.number().min(0),
  usage: Usage,
  contextTokens: z.int().min(0).nullable(),
  contextWindow: z.int().min(0).nullable(),
  /** Number of the last event of its timeline. */
  lastSeq: z.int().min(0),
  createdAt: Instant,
  updatedAt: Instant,
})
export type Session = z.infer<typeof Session>

export const Input = z.object({
  id: InputId,
  session: SessionId,
  inputKind: InputKind,
  state: InputState,
  text: z.string(),
  images: z.array(InputImage),
  author: Author,
  /** It was handed over in the middle of a turn, and not as the beginning of one. */
  steer: z.boolean(),
  /** Orders the queue of its session: the least comes first. */
  position: z.number(),
  delivery: DeliveryId.nullable(),
  createdAt: Instant,
})
export type Input = z.infer<typeof Input>

/** A runtime's permission prompt: a call that it makes only when a person allows it. */
export const Request = z.object({
  id: RequestId,
  session: SessionId,
  ticket: TicketKey,
  /** The project's name. */
  project: z.string(),
  callId: z.string(),
  /** The tool, as the runtime names it. */
  name: z.string(),
  toolKind: ToolKind,
  /** One line that says what it does: the command, the file, the pattern. */
  title: z.string(),
  /** The arguments as JSON text, cut at the inline limit; `inputBlob` is then the whole. */
  input: z.string(),
  inputBlob: BlobId.nullable(),
  /** What an answer for the session allows, each as the runtime writes it; empty: this very call only. */
  sessionRules: z.array(z.string()),
  state: RequestState,
  /** False while open: the runtime that asked is gone, and the answer reaches the one that goes on. */
  waits: z.boolean(),
  /** Who answered; null while open. */
  author: Author.nullable(),
  /** The word given with the answer. */
  text: z.string().nullable(),
  turn: z.int().min(1).nullable(),
  createdAt: Instant,
  answeredAt: Instant.nullable(),
})
export type Request = z.infer<typeof Request>

export const Agent = z.object({
  id: AgentId,
  state: AgentState,
  session: SessionId.nullable(),
  /** The key of the session's ticket. */
  ticket: TicketKey.nullable(),
  pid: z.int().nullable(),
  runtimePids: z.array(z.int()),
  /** Bytes of the agent process and of its runtime's processes; null while unknown. */
  memoryBytes: z.int().min(0).nullable(),
  runtimeMemoryBytes: z.int().min(0).nullable(),
  /** Per cent of one core, the agent and its runtime's processes together. */
  cpuPercent: z.number().min(0).nullable(),
  /** How often it was started again after a crash since the host began. */
  restarts: z.int().min(0),
  /** Why it is offline, for people; empty otherwise. */
  reason: z.string(),
})
export type Agent = z.infer<typeof Agent>
