import { z } from 'zod'
import { RuntimeReport } from './agent-wire.ts'
import { call, command, referenced, TEXT_LIMIT, text } from './call.ts'
import {
  AgentId,
  AssumptionId,
  InputId,
  ProjectId,
  QuestionId,
  Reference,
  RequestId,
  SessionId,
  TicketId,
} from './ids.ts'
import { deletionCalls, housekeepingCalls, movingCalls } from './moving-calls.ts'
import { oneLine } from './one-line.ts'
import { parkingCalls } from './parking-calls.ts'
import { questionCalls } from './question-calls.ts'
import { Assumption, Question } from './questions.ts'
import {
  Agent,
  Input,
  InputImage,
  InputState,
  PermissionMode,
  Priority,
  Project,
  ProjectSettings,
  Request,
  RequestState,
  Session,
  SessionState,
  Stage,
  StageSettings,
  Ticket,
  TicketStatus,
} from './records.ts'
import { Refusal } from './refusal.ts'
import { Runtime, RuntimeName } from './runtimes.ts'
import { Settings, SettingsChange } from './settings.ts'
import { FOLLOW_LIMIT_MS, timelineCalls } from './timeline-calls.ts'

/** The version of this contract; a client and a host that differ say so instead of guessing. */
export const CONTRACT_VERSION = 3

/** Of one message: how many images, bytes of one, bytes of all together. */
export const IMAGE_LIMITS = { count: 10, bytes: 5_000_000, allBytes: 20_000_000 } as const

/** An image of a message as it is sent; `data` is base64. */
export const SentImage = z.object({
  mediaType: InputImage.shape.mediaType,
  data: z
    .string()
    .min(1, 'an empty image shows nothing')
    .max(Math.ceil(IMAGE_LIMITS.bytes / 3) * 4, 'an image may have 5 MB at most'),
})
export type SentImage = z.infer<typeof SentImage>

/** The input that a message became; `notSteered` says why one that was to be steered is queued instead. */
export const SentInput = Input.extend({ notSteered: Refusal.optional() })
export type SentInput = z.infer<typeof SentInput>

const { shape: project } = ProjectSettings

/** What is changed of a project; what is absent stays, and null takes away what a project can be without. */
export const ProjectChange = z.object({
  name: project.name.optional(),
  repo: project.repo.optional(),
  /** null: the remote's default branch. */
  branch: project.branch.unwrap().nullable().optional(),
  runtime: project.runtime.unwrap().optional(),
  permission: PermissionMode.optional(),
  model: project.model.unwrap().nullable().optional(),
  /** The whole list. */
  runtimeArgs: project.runtimeArgs.unwrap().optional(),
  setup: project.setup.unwrap().nullable().optional(),
  setupLimit: project.setupLimit.unwrap().optional(),
  /** By stage, each whole; null: as the project is. The others stay. */
  stages: z.record(Stage, StageSettings.nullable()).optional(),
  /** By name; null takes a variable away. The others stay. */
  env: z.record(project.env.unwrap().keyType, z.string().max(32_768).nullable()).optional(),
  window: project.window.unwrap().optional(),
  maxSessions: project.maxSessions.unwrap().nullable().optional(),
  /** The whole list. */
  sources: project.sources.unwrap().optional(),
  planner: z.boolean().optional(),
  skill: project.skill.unwrap().nullable().optional(),
  /** The whole list. */
  notify: project.notify.unwrap().optional(),
})
export type ProjectChange = z.infer<typeof ProjectChange>

/** The status that a person may give a ticket; the others follow from its session. */
export const GivenStatus = TicketStatus.extract(['Backlog', 'Ready', 'Review', 'Done', 'Cancelled'])
export type GivenStatus = z.infer<typeof GivenStatus>

export const HostInfo = z.object({
  contract: z.int(),
  version: z.string(),
  kind: z.enum(['desktop', 'headless']),
  dataDir: z.string(),
  pid: z.int(),
  /** How many the fleet is to have; those that drain come on top. */
  agents: z.int(),
  /** Empty until an agent is up for the first time. */
  runtimes: z.array(Runtime),
  startedAt: z.string(),
})
export type HostInfo = z.infer<typeof HostInfo>

export const DoctorReport = z.object({
  host: HostInfo,
  git: z.object({ path: z.string().nullable(), version: z.string().nullable() }),
  runtimes: z.array(RuntimeReport),
  storage: z.object({
    file: z.string(),
    schemaVersion: z.int(),
    bytes: z.int(),
    freeBytes: z.int().nullable(),
  }),
  /** What keeps the host from working, or will soon; empty when all is well. */
  problems: z.array(Refusal),
  /** What this machine lacks that Ballet can do without. */
  notes: z.array(Refusal).optional(),
})
export type DoctorReport = z.infer<typeof DoctorReport>

const ticketTitle = z.string().overwrite(oneLine).min(1, 'a ticket needs a title').max(500)

/** What a client that follows the records holds of each kind, by id. */
const RecordChange = z.discriminatedUnion('record', [
  z.object({ record: z.literal('project'), id: ProjectId, value: Project.nullable() }),
  z.object({ record: z.literal('ticket'), id: TicketId, value: Ticket.nullable() }),
  z.object({ record: z.literal('session'), id: SessionId, value: Session.nullable() }),
  /** Only inputs that are queued, sent or unknown; null once the timeline has the whole story. */
  z.object({ record: z.literal('input'), id: InputId, value: Input.nullable() }),
  /** Only open ones; null once closed. */
  z.object({ record: z.literal('request'), id: RequestId, value: Request.nullable() }),
  /** Only open ones, and answered ones whose answer can still be taken back or waits for the others of its turn. */
  z.object({ record: z.literal('question'), id: QuestionId, value: Question.nullable() }),
  /** Only those that nobody looked over yet. */
  z.object({ record: z.literal('assumption'), id: AssumptionId, value: Assumption.nullable() }),
  z.object({ record: z.literal('agent'), id: z.string(), value: Agent.nullable() }),
  z.object({ record: z.literal('runtime'), id: RuntimeName, value: Runtime.nullable() }),
  /** The one of this host. */
  z.object({
    record: z.literal('settings'),
    id: z.literal('settings'),
    value: Settings.nullable(),
  }),
])
export type RecordChange = z.infer<typeof RecordChange>

export const RecordFollow = z.object({
  /** Where to go on; an opaque text. */
  cursor: z.string(),
  /** True: `changes` holds everything there is; forget what is not in it. */
  snapshot: z.boolean(),
  changes: z.array(RecordChange),
})
export type RecordFollow = z.infer<typeof RecordFollow>

/** The one contract of every client: the window, the command line, a team's desktops. */
export const contract = {
  host: {
    info: call.output(HostInfo),
    /** `project`: the runtimes as its sessions find them, with what it adds to the environment. */
    doctor: call
      .input(z.object({ project: Reference.optional() }).default({}))
      .output(DoctorReport),
    /** Makes the sample project on first use, adds the demo's ticket and starts it on the scripted model. */
    demo: call.input(z.object(command).default({})).output(Session),
    ...housekeepingCalls,
  },

  projects: {
    /** Checks the remote before anything is stored. */
    add: call.input(ProjectSettings.extend(command)).output(Project),
    list: call.output(z.array(Project)),
    show: call.input(referenced).output(Project),
    /**
     * Holds for sessions that are started or brought back afterwards. Another repository or branch is checked at the
     * remote first; another repository is refused while a session of the project is not over.
     */
    edit: call.input(ProjectChange.extend({ ...command, ref: Reference })).output(Project),
    /** Refused while the project has tickets. */
    delete: call.input(referenced.extend(command)).output(Project),
  },

  tickets: {
    add: call
      .input(
        z.object({
          ...command,
          project: Reference,
          title: ticketTitle,
          body: z.string().max(TEXT_LIMIT).default(''),
          priority: Priority.default(3),
          stage: Stage.default('implement'),
          start: z.boolean().default(false),
        }),
      )
      .output(Ticket),
    list: call
      .input(
        z.object({ project: Reference.optional(), status: TicketStatus.optional() }).default({}),
      )
      .output(z.array(Ticket)),
    show: call.input(referenced).output(Ticket),
    /** The status is refused while a session of the ticket is live. What a session was given stays as it is. */
    edit: call
      .input(
        referenced.extend({
          ...command,
          title: ticketTitle.optional(),
          body: z.string().max(TEXT_LIMIT).optional(),
          priority: Priority.optional(),
          status: GivenStatus.optional(),
          /** Refused like the status; the next session is of this stage. */
          stage: Stage.optional(),
        }),
      )
      .output(Ticket),
    /** Gives the ticket to an agent: a new session, or the stopped or failed one goes on. */
    start: call.input(referenced.extend(command)).output(Session),
    ...deletionCalls,
  },

  sessions: {
    list: call
      .input(
        z
          .object({
            project: Reference.optional(),
            ticket: Reference.optional(),
            state: SessionState.optional(),
          })
          .default({}),
      )
      .output(z.array(Session)),
    /** A ticket's key stands for its newest session. */
    show: call.input(referenced).output(Session),
    /**
     * Queued until the running turn ends. With `steer` it is handed over at once and taken after the current tool
     * call; where that cannot be it is queued, and `notSteered` of the answer says why. The text may be empty where
     * there are images.
     */
    send: call
      .input(
        referenced
          .extend({
            text: z.string().max(TEXT_LIMIT),
            input: InputId.optional(),
            steer: z.boolean().optional(),
            images: z
              .array(SentImage)
              .max(IMAGE_LIMITS.count, `a message may have ${IMAGE_LIMITS.count} images at most`)
              .optional(),
          })
          .refine(
            (value) => value.text.trim() !== '' || (value.images?.length ?? 0) > 0,
            'an empty text says nothing',
          ),
      )
      .output(SentInput),
    /** Stops the running turn; `text` is delivered next, after what was queued. */
    interrupt: call
      .input(referenced.extend({ ...command, text: text.optional(), input: InputId.optional() }))
      .output(Session),
    stop: call.input(referenced.extend(command)).output(Session),
    finish: call.input(referenced.extend(command)).output(Session),
    /**
     * Moves the session to another runtime or model, a running turn is interrupted first: a new conversation in the same
     * workspace begins with the ticket, a summary of the timeline and the open points. The old one stays where its
     * runtime keeps it, and the timeline names it. Refused while it finishes, parks, or is over, and where the
     * runtime has no driver. A null model: the stage's or the
     * project's where the runtime is theirs, else the runtime's own choice.
     */
    continueWith: call
      .input(
        referenced.extend({
          ...command,
          runtime: RuntimeName,
          model: project.model.unwrap().nullable().default(null),
        }),
      )
      .output(Session),
    ...parkingCalls,
    ...movingCalls,
    /** Oldest first; all of them, or those in one state. */
    inputs: call.input(referenced.extend({ state: InputState.optional() })).output(z.array(Input)),
  },

  /** What runtimes ask a person before they do it. Only an open one is answered, once. */
  requests: {
    /** Oldest first; all of them, or those of one session or in one state. */
    list: call
      .input(
        z.object({ session: Reference.optional(), state: RequestState.optional() }).default({}),
      )
      .output(z.array(Request)),
    show: call.input(referenced).output(Request),
    /** Once, or for the rest of the session what `sessionRules` says. Brings a stopped session back. */
    allow: call
      .input(referenced.extend({ ...command, forSession: z.boolean().default(false) }))
      .output(Request),
    /** The text reaches the model as the reason. Brings a stopped session back. */
    deny: call.input(referenced.extend({ ...command, text: text.optional() })).output(Request),
  },

  ...questionCalls,

  /** Inputs in hand: what is queued can still be changed. Refused with `input.<its state>` once it is not. */
  inputs: {
    show: call.input(referenced).output(Input),
    edit: call.input(referenced.extend({ ...command, text })).output(Input),
    /** What is cancelled already stays so. */
    cancel: call.input(referenced.extend(command)).output(Input),
    /** To right before another queued input of its session, or to the end. */
    move: call.input(referenced.extend({ ...command, before: Reference.nullable() })).output(Input),
    /** Hands a queued message over at once, as `sessions.send` with `steer`; refused where that cannot be. */
    steer: call.input(referenced.extend(command)).output(Input),
  },

  settings: {
    show: call.output(Settings),
    /**
     * A larger fleet is launched at once; of a smaller one the highest places drain: their sessions park, and
     * then they end. Paths of runtimes hold for sessions that are started or brought back afterwards.
     */
    edit: call.input(SettingsChange.extend(command)).output(Settings),
  },

  timeline: timelineCalls,

  /** Like `timeline.follow`, for projects, tickets, sessions, open inputs, open requests and agents. Without a cursor: a snapshot. */
  records: {
    follow: call
      .input(
        z.object({
          cursor: z.string().optional(),
          waitMs: z.int().min(0).max(FOLLOW_LIMIT_MS).default(FOLLOW_LIMIT_MS),
        }),
      )
      .output(RecordFollow),
  },

  agents: {
    list: call.output(z.array(Agent)),
    /**
     * Parks the session of each, a working one at the end of its turn or after the grace, and gives it no other: one
     * agent, or all. `gently` again: the grace begins anew. `now` does not wait for the end of the turn; `fast` neither
     * for a push, which is done later: for a machine that goes down. `cancel` takes it back. It is over when no agent
     * holds a session any more. `quits`: the host ends after it.
     */
    drain: call
      .input(
        z.object({
          ...command,
          agent: AgentId.optional(),
          how: z.enum(['gently', 'now', 'fast', 'cancel']).default('gently'),
          quits: z.boolean().default(false),
        }),
      )
      .output(z.array(Agent)),
  },
}

export type Contract = typeof contract
