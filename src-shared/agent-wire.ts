import { z } from 'zod'
import {
  AgentId,
  DeliveryId,
  InputId,
  Instant,
  LeaseId,
  RequestId,
  SessionId,
  TicketKey,
} from './ids.ts'
import { McpCall } from './mcp-tools.ts'
import { KeptFile, ParkedWork } from './parking.ts'
import { Probe, ProbeFinding, ProcessIdentity, SessionMarker } from './probe.ts'
import { InputImage, PermissionMode } from './records.ts'
import { Refusal } from './refusal.ts'
import { AcpAgent, Runtime, RuntimeName } from './runtimes.ts'
import { AgentEventBody, LiveBlock } from './timeline.ts'
import { ToldEntry } from './told-entries.ts'

export { Probe, ProbeFinding, ProcessIdentity, RuntimeReport, SessionMarker } from './probe.ts'

/** The version of the messages between Core and an agent; both ends must have the same. */
export const AGENT_WIRE_VERSION = 3

/** The runtime's own words for what is allowed; Core keeps them and gives them back as they are. */
const RuntimeRule = z.record(z.string(), z.unknown())

/** What Core keeps of a permission request beside its event. */
export const RequestFacts = z.object({
  /** sha256 of the tool's name and its whole arguments in canonical JSON: the identical call has the same. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /** What an answer for the session allows, for the runtime and for people. */
  rules: z.array(RuntimeRule).max(100),
  ruleTexts: z.array(z.string().max(2_000)).max(100),
})
export type RequestFacts = z.infer<typeof RequestFacts>

/** What a person allowed for the rest of a session: the runtime's rules, and without any the identical call. */
export const SessionGrant = RequestFacts.pick({ digest: true, rules: true })
export type SessionGrant = z.infer<typeof SessionGrant>

/** A delivery that was handed to the runtime before a crash and whose fate is not known. */
export const OpenDelivery = z.object({
  id: DeliveryId,
  inputs: z.array(InputId),
  /** Handed over in the middle of a turn that others began. */
  steer: z.boolean(),
})
export type OpenDelivery = z.infer<typeof OpenDelivery>

/** Everything an agent needs to run one session. */
export const SessionSpec = z.object({
  session: SessionId,
  lease: LeaseId,
  nonce: SessionMarker.shape.nonce,
  ticket: TicketKey,
  ticketTitle: z.string(),
  projectName: z.string(),
  repo: z.string(),
  /** The branch that the work starts from. */
  baseBranch: z.string(),
  /** The session's own branch, `ballet/<ticket key>-<last 6 of the ticket's id>`. */
  branch: z.string(),
  /** The commit that Ballet last pushed to the branch; null when it pushed none yet. */
  pushedCommit: z.string().nullable(),
  /** Absolute paths under the data folder. */
  mirrorDir: z.string(),
  workspaceDir: z.string(),
  setup: z.object({ command: z.string(), limitMs: z.int().min(1).nullable() }).nullable(),
  runtime: RuntimeName,
  /** Absolute path of the runtime's program; looked for when null. */
  runtimePath: z.string().nullable(),
  /** How an `acp:…` runtime is started; null for the others. */
  acp: AcpAgent.nullable(),
  model: z.string().nullable(),
  runtimeArgs: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  permission: PermissionMode,
  grants: z.array(SessionGrant),
  /** Goes to the runtime as appended system prompt. */
  prompt: z.string(),
  /** `park`: no runtime is started; the session is parked from what an earlier lease left. */
  task: z.enum(['run', 'park']),
  /**
   * What was kept when the session was parked last, to be restored first; null when nothing was. `restored`: an earlier
   * lease restored it, so that it is only for a workspace that is gone. `withoutDamaged`: a person wants to go on
   * without kept files that are damaged. `partial`: an earlier lease restored it without such files already, which are
   * not among it any more. `behind`: the session pushed more since, up to `pushedCommit`.
   */
  parked: z
    .object({
      work: ParkedWork,
      key: z.string(),
      keptDir: z.string(),
      restored: z.boolean(),
      withoutDamaged: z.literal(true).optional(),
      partial: z.literal(true).optional(),
      behind: z.literal(true).optional(),
    })
    .nullable(),
  /** Names of the files that are kept of the session; what else a parking that was cut left there goes. */
  kept: z.array(z.string()),
  /** Set when an earlier lease already ran this session. */
  resume: z
    .object({
      /** The runtime's conversation; null when it never began one. */
      conversation: z.string().nullable(),
      /** The last turn's number, so that counting goes on. */
      turn: z.int().min(0),
      /** A turn was running when the session was cut. */
      turnCut: z.boolean(),
      /** The runtime's own record holds something of the conversation. */
      recorded: z.boolean(),
      /** Tool calls without a result. */
      openCalls: z.array(z.string()),
      /** `ref` of each stored event of the last turn. */
      storedRefs: z.array(z.string()),
      /** What the timeline has of the last two turns, for a runtime that did not record their end. */
      told: z.array(ToldEntry),
      openDeliveries: z.array(OpenDelivery),
      /** What earlier leases spent, since a runtime may count from 0 again. */
      costUsd: z.number().min(0),
    })
    .nullable(),
})
export type SessionSpec = z.infer<typeof SessionSpec>

/** One user message for the runtime, made of one or more queued inputs in their order. */
export const Delivery = z.object({
  id: DeliveryId,
  inputs: z.array(InputId).min(1),
  text: z.string(),
  /** In the order of the inputs; after the text. */
  images: z.array(z.object({ mediaType: InputImage.shape.mediaType, data: z.string() })).optional(),
  /** For the running turn, after the current tool call; where none runs any more, it begins one. */
  steer: z.literal(true).optional(),
  /** What the runtime must be told before the inputs, such as that its last turn was cut. */
  preface: z.string().optional(),
})
export type Delivery = z.infer<typeof Delivery>

const underLease = { lease: LeaseId }

/** Core to agent. */
export const ToAgent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('init'),
    wire: z.literal(AGENT_WIRE_VERSION),
    agent: AgentId,
    dataDir: z.string(),
    heartbeatMs: z.int().min(100),
    /** The whole environment that git, setup commands and runtimes get, before project and session add theirs. */
    env: z.record(z.string(), z.string()),
  }),
  z.object({ type: z.literal('session.start'), spec: SessionSpec }),
  z.object({ type: z.literal('input.deliver'), ...underLease, delivery: Delivery }),
  z.object({ type: z.literal('turn.interrupt'), ...underLease }),
  z.object({
    type: z.literal('request.answer'),
    ...underLease,
    request: RequestId,
    outcome: z.enum(['allow', 'allow-for-session', 'deny']),
    text: z.string().optional(),
    /** All of the session's by now, for the next start of the runtime; with `allow-for-session`. */
    grants: z.array(SessionGrant).optional(),
  }),
  /** What the runtime's call of one of Ballet's tools is answered with. */
  z.object({
    type: z.literal('mcp.answer'),
    ...underLease,
    call: z.string(),
    isError: z.boolean(),
    text: z.string(),
  }),
  /** Commit, push, remove the workspace. */
  z.object({ type: z.literal('session.finish'), ...underLease, message: z.string() }),
  /** Interrupt what runs, push a snapshot, keep the workspace. */
  z.object({ type: z.literal('session.stop'), ...underLease }),
  /**
   * Settle the turn, end the runtime's tree, keep the work and the session state, and remove the workspace once Core
   * has stored what was kept.
   */
  z.object({
    type: z.literal('session.park'),
    ...underLease,
    saga: z.string(),
    /** 32 bytes in base64. */
    key: z.string(),
    /** The session's folder of kept files. */
    keptDir: z.string(),
    /** What an earlier parking of the session keeps: the same content is not kept twice. */
    kept: z.array(KeptFile),
    /** Names of kept files that are damaged: they stay where they are. */
    damaged: z.array(z.string()).optional(),
    /** Within seconds: nothing is pushed, a bundle is kept instead. */
    fast: z.boolean(),
  }),
  /** End the runtime's tree and let go; nothing is pushed or removed. */
  z.object({ type: z.literal('session.release'), ...underLease }),
  /** Everything up to and with `n` is stored. */
  z.object({ type: z.literal('items.ack'), ...underLease, n: z.int().min(0) }),
  z.object({ type: z.literal('probe'), id: z.string(), probe: Probe, limitMs: z.int().min(1) }),
  /** End the runtime's tree, hand over what is not stored yet, exit. */
  z.object({ type: z.literal('shutdown') }),
])
export type ToAgent = z.infer<typeof ToAgent>

/**
 * One numbered entry of what an agent tells under a lease. Core stores each `(lease, n)` once; the agent keeps
 * and sends again what is not acknowledged.
 */
export const AgentItem = z.discriminatedUnion('type', [
  /** `request` belongs to a `request.opened`. */
  z.object({
    type: z.literal('event'),
    at: Instant,
    event: AgentEventBody,
    request: RequestFacts.optional(),
  }),
  /** `leftOut`: names of kept files that were damaged, and without which it was restored. */
  z.object({
    type: z.literal('workspace'),
    at: Instant,
    baseCommit: z.string(),
    leftOut: z.array(z.string()).optional(),
  }),
  /** The runtime is up and between turns: inputs can be delivered. */
  z.object({
    type: z.literal('ready'),
    at: Instant,
    conversation: z.string(),
    runtimeVersion: z.string(),
  }),
  /** The runtime holds this delivery in its conversation; `steer`: as part of a turn that others began. */
  z.object({
    type: z.literal('delivered'),
    at: Instant,
    delivery: DeliveryId,
    steer: z.literal(true).optional(),
  }),
  /** `never`: the runtime certainly does not hold it, it may be delivered again. `unknown`: nobody can tell. */
  z.object({
    type: z.literal('undelivered'),
    at: Instant,
    delivery: DeliveryId,
    fate: z.enum(['never', 'unknown']),
    reason: z.string(),
  }),
  /** The runtime has the answer to its request. */
  z.object({ type: z.literal('request.answered'), at: Instant, request: RequestId }),
  /** The runtime certainly did not get the answer: it is gone, or was started again. */
  z.object({
    type: z.literal('request.unanswered'),
    at: Instant,
    request: RequestId,
    reason: z.string(),
  }),
  /** The runtime does not wait for the answer any more. */
  z.object({ type: z.literal('request.withdrawn'), at: Instant, request: RequestId }),
  /** The runtime called one of Ballet's tools; Core answers with `mcp.answer`. `turn` is the running one's number. */
  z.object({
    type: z.literal('mcp.call'),
    at: Instant,
    call: z.string(),
    turn: z.int().min(1).optional(),
    made: McpCall,
  }),
  /** The branch on the remote is now at this commit, pushed by Ballet. */
  z.object({ type: z.literal('pushed'), at: Instant, commit: z.string() }),
  /** A finish has all of the work on the remote; the workspace goes when this is stored. */
  z.object({ type: z.literal('finished'), at: Instant }),
  /** Everything of the session is kept; the workspace goes when this is stored. */
  z.object({ type: z.literal('parked'), at: Instant, saga: z.string(), work: ParkedWork }),
  /** An asked-for finish or stop could not be done; the session goes on as it was. */
  z.object({
    type: z.literal('refused'),
    at: Instant,
    what: z.enum(['finish', 'stop', 'park']),
    refusal: Refusal,
  }),
  /** The last item of a lease: the agent is free. `kept`: whether the workspace is still there. */
  z.object({
    type: z.literal('ended'),
    at: Instant,
    outcome: z.enum(['finished', 'stopped', 'parked', 'failed', 'released']),
    kept: z.boolean(),
    refusal: Refusal.optional(),
  }),
])
export type AgentItem = z.infer<typeof AgentItem>

/** A large text of an event of the same batch, kept beside the timeline. */
export const BlobText = z.object({ id: z.string(), text: z.string() })
export type BlobText = z.infer<typeof BlobText>

export const ItemBatch = z.object({
  lease: LeaseId,
  /** The number of the first item; the others follow without a gap. Counts from 1 in each lease. */
  from: z.int().min(1),
  items: z.array(AgentItem).min(1),
  blobs: z.array(BlobText),
})
export type ItemBatch = z.infer<typeof ItemBatch>

/** Code of the notice and of the `ended` of a session that was stopped, and whose work could not be pushed. */
export const NOT_PUSHED = 'stop.not-pushed'

/** Code of the notice that tells how a branch that somebody moved and the restored work differ, for the agent too. */
export const BRANCH_MOVED = 'branch.moved'

/** Code of the notice that a workspace was removed by something else than Ballet, for the agent too. */
export const WORKSPACE_GONE = 'workspace.gone'

/** Code of the notice that a workspace was restored without kept files that are damaged, for the agent too. */
export const RESUMED_WITHOUT = 'resume.without'

/** Code of the notice that a runtime did not record the end of its last turn, with what that was, for the agent too. */
export const RECORD_BEHIND = 'record.behind'

/** Agent to Core. */
export const FromAgent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('hello'),
    wire: z.int(),
    process: ProcessIdentity,
    /** Every runtime that it can drive. */
    runtimes: z.array(Runtime).default([]),
  }),
  z.object({
    type: z.literal('heartbeat'),
    lease: LeaseId.nullable(),
    /** The runtime's own process first, then its descendants. */
    runtime: z.array(ProcessIdentity),
    memoryBytes: z.int().min(0),
    runtimeMemoryBytes: z.int().min(0),
    cpuPercent: z.number().min(0),
  }),
  /** At most 1,000 items at once. */
  z.object({
    type: z.literal('items'),
    ...ItemBatch.shape,
    items: ItemBatch.shape.items.max(1_000),
  }),
  /** Appends `text` at `offset` (UTF-16 code units) of a live block; offset 0 begins it. */
  z.object({
    type: z.literal('live'),
    ...underLease,
    offset: z.int().min(0),
    ...LiveBlock.shape,
  }),
  /** A live block that no stored event will replace. */
  z.object({ type: z.literal('live.gone'), ...underLease, block: z.string() }),
  z.object({
    type: z.literal('probe.found'),
    id: z.string(),
    finding: ProbeFinding.nullable(),
    refusal: Refusal.nullable(),
  }),
  z.object({
    type: z.literal('log'),
    level: z.enum(['debug', 'info', 'warn', 'error']),
    message: z.string(),
    fields: z.record(z.string(), z.unknown()),
  }),
])
export type FromAgent = z.infer<typeof FromAgent>

/**
 * Where an agent that loses its host leaves what was not acknowledged: `<dataDir>/spool/<lease>.json`, one `ItemBatch`.
 * The next host stores it by `(lease, n)` and removes the file.
 */
export const SPOOL_FOLDER = 'spool'
