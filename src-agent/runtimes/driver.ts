import type { z } from 'zod'
import type {
  BlobText,
  Delivery,
  OpenDelivery,
  ProcessIdentity,
  RequestFacts,
  RuntimeReport,
  SessionGrant,
  SessionMarker,
} from '../../src-shared/agent-wire.ts'
import type { DeliveryId, Instant, RequestId } from '../../src-shared/ids.ts'
import type { PermissionMode, Usage } from '../../src-shared/records.ts'
import type {
  RuntimeCapabilities,
  RuntimeName,
  RuntimeVersions,
} from '../../src-shared/runtimes.ts'
import type { AgentEventBody, LiveBlock, TurnEndReason } from '../../src-shared/timeline.ts'
import type { ToldEntry } from '../../src-shared/told-entries.ts'

export type DriverCapabilities = RuntimeCapabilities

/** How a runtime reaches a server of MCP over HTTP; the token goes as `Authorization: Bearer <token>`. */
export type McpServerAddress = { name: string; url: string; token: string }

export type DriverSpec = {
  /** Absolute path of the workspace. */
  cwd: string
  /** Absolute path of the program. */
  executable: string
  model: string | null
  args: readonly string[]
  /** The whole environment of the runtime, without the marker, which the driver adds. */
  env: Readonly<Record<string, string>>
  marker: z.infer<typeof SessionMarker>
  permission: PermissionMode
  /** What a person allowed for the rest of the session so far. */
  grants: readonly SessionGrant[]
  /** Appended to the runtime's own system prompt. */
  prompt: string
  /**
   * Whose tools the runtime has, without asking anybody before it calls one. One that it cannot reach is told by a
   * notice `mcp.unreachable`, and the session goes on.
   */
  mcpServers: readonly McpServerAddress[]
  /** A folder of this lease outside the workspace for the driver's own files; removed with the lease. */
  scratchDir: string
}

/** What is known of the conversation that shall go on. */
export type ResumeFacts = {
  conversation: string
  openDeliveries: readonly OpenDelivery[]
  openCalls: readonly string[]
  storedRefs: readonly string[]
  told: readonly ToldEntry[]
  turnCut: boolean
  /** The runtime's own record holds something of the conversation; without that it may be begun anew. */
  recorded: boolean
  /** The last turn's number; 0 when none began yet. */
  turn: number
}

type WithoutTurn<E> = E extends unknown ? Omit<E, 'turn'> : never

/** An event of the timeline without its turn, which the session loop counts. */
export type DriverEvent = WithoutTurn<
  Exclude<AgentEventBody, { kind: 'turn.started' } | { kind: 'turn.ended' }>
>

/** What a runtime session tells, in order. */
export type DriverSignal =
  /**
   * A turn began with these deliveries; none when the runtime began it by itself. The runtime has them, but a
   * kill right now may still lose them: that they are kept is told by `delivered`.
   */
  | { type: 'turn.started'; at: Instant; deliveries: readonly DeliveryId[] }
  /** The running turn took these, which were handed over by `steer`. Like a turn's beginning it is not `delivered`. */
  | { type: 'turn.joined'; at: Instant; deliveries: readonly DeliveryId[] }
  /** The runtime certainly does not have these any more, which were handed over by `steer`. */
  | { type: 'withdrawn'; at: Instant; deliveries: readonly DeliveryId[] }
  /** The runtime's own record holds these deliveries, so that a resume finds them; comes once for each. */
  | { type: 'delivered'; at: Instant; deliveries: readonly DeliveryId[] }
  | {
      type: 'event'
      at: Instant
      event: DriverEvent
      blobs?: readonly BlobText[]
      /** Of a `request.opened`. */
      request?: RequestFacts
    }
  /** The runtime does not wait for the answer any more, and nobody gave it. */
  | { type: 'request.withdrawn'; at: Instant; request: RequestId }
  /** Appends to a live block; offset 0 begins it. An event with the same `block` ends it. */
  | { type: 'live'; offset: number; block: Omit<LiveBlock, 'turn'> }
  | { type: 'live.gone'; block: string }
  | {
      type: 'turn.ended'
      at: Instant
      reason: TurnEndReason
      durationMs: number
      usage: Usage
      costUsd: number
      detail?: string
      hint?: string
      /** Of an interrupted one: the runtime did not end it in order, so that nobody knows what it recorded. */
      cut?: true
    }
  /** Nothing comes after this. `expected` is true when `stop` was called. */
  | { type: 'exited'; at: Instant; expected: boolean; detail: string; hint?: string }

/** What a resume found out about the time before it. */
export type Recovery = {
  /** What the runtime's transcript holds of the cut turn and the timeline does not, in order. */
  signals: readonly DriverSignal[]
  /** Of every open delivery. */
  fates: ReadonlyMap<DeliveryId, Fate>
}

/**
 * What became of a delivery: the runtime has it, has it as part of a turn that others began, certainly has not, or
 * nobody can tell.
 */
export type Fate = 'delivered' | 'joined' | 'never' | 'unknown'

export type RequestAnswer = { outcome: 'allow' | 'allow-for-session' | 'deny'; text?: string }

/** A running runtime with one conversation, between turns unless a turn was started. */
export type RuntimeSession = {
  readonly conversation: string
  readonly version: string
  /** The runtime's own process first, then everything that carries the marker. */
  processes(): Promise<ProcessIdentity[]>
  /** Hands over one user message; only between turns. Rejects with `BalletError` when it was certainly not written. */
  send(delivery: Delivery): Promise<void>
  /**
   * Hands over a message for the running turn; one at a time. `turn.joined` follows, or `turn.started` when the turn
   * was over before it took it, or `withdrawn` when it is interrupted. Rejects with `BalletError` when it was
   * certainly not written, such as when no turn runs. Only where the capabilities have `steer`.
   */
  steer(delivery: Delivery): Promise<void>
  /** Ends the running turn: `turn.ended` follows, and every process of its tools is gone within a second. */
  interrupt(): Promise<void>
  /** Resolves when the runtime has the answer. Rejects with `BalletError` when it certainly did not get it. */
  answerRequest(request: RequestId, answer: RequestAnswer): Promise<void>
  /** Ends the runtime and its whole tree, and verifies that nothing carries the marker any more. */
  stop(): Promise<void>
}

/** A short run that reads one folder, and answers once. */
export type ReadOnlyRun = {
  /** It can read what is in this folder and nothing else, write nothing and start nothing. */
  cwd: string
  /** A new file outside that folder, which goes when the run is over. */
  settingsFile: string
  executable: string
  model: string | null
  /** The whole environment of the runtime, without the marker, which the driver adds. */
  env: Readonly<Record<string, string>>
  marker: z.infer<typeof SessionMarker>
  /** Appended to the runtime's own system prompt. */
  instructions: string
  /** Taken as it is: no command and no mention of a file in it means anything. */
  prompt: string
  /** More than 0. */
  costLimitUsd: number
  signal: AbortSignal
}

export type ReadOnlyAnswer = { text: string; costUsd: number }

/** Where a runtime runs, or would run. */
export type RuntimePlace = Pick<DriverSpec, 'cwd' | 'env'> & {
  /** The program, as the settings or the session name it; looked for when null. */
  executable: string | null
  /** A folder for files on the way, of this work alone; the caller removes it. */
  scratchDir: string
  /** Of the session that it is for: what is started carries it, and is found by it when the agent dies. */
  marker: DriverSpec['marker']
  /** Told in words what a removal had to leave, and why. */
  onLeft?: (what: string) => void
}

/** A file of a runtime's own record of a conversation, or one that a driver wrote of it into `scratchDir`. */
export type StateFile = {
  /** Absolute. */
  path: string
  /** Its name in an archive: relative, with forward slashes, the same on every machine. */
  name: string
}

/** How the files in which a runtime keeps a conversation are moved. No runtime may be running on it. */
export type SessionStateFiles = {
  /** Everything that another machine needs to go on. Rejects with `state.missing` when there is nothing. */
  capture(conversation: string, place: RuntimePlace): Promise<readonly StateFile[]>
  /**
   * Puts captured files where the runtime looks for them when it runs in `place`, and gives where they are now. Safe
   * to repeat. `resume` proves afterwards that the runtime has the conversation.
   */
  restore(
    conversation: string,
    files: readonly StateFile[],
    place: RuntimePlace,
  ): Promise<readonly StateFile[]>
  /**
   * Removes what the runtime keeps of this conversation alone, as far as it ran in a folder below `cwd`: elsewhere it
   * may go on. Gives the number of files.
   */
  remove(conversation: string, place: RuntimePlace): Promise<number>
  /** The conversations that ran in folders below `cwd`. */
  list(place: RuntimePlace): Promise<readonly KeptConversation[]>
}

/** What a runtime keeps of a conversation; `path` is its main file, `ran` the folder that it says it ran in. */
export type KeptConversation = {
  conversation: string
  path: string
  bytes: number
  ageMs: number
  ran: string
}

export type FindOptions = {
  /** As the settings name it; looked for when null. */
  path: string | null
  env: Readonly<Record<string, string>>
  /** For all of it, in milliseconds; `LOOK_LIMIT_MS` when absent. */
  limitMs?: number
  /** The version that the same file told this process before is good enough; false when absent. */
  remembers?: boolean
}

export type Driver = {
  readonly runtime: RuntimeName
  /** Missing: the conversations of this runtime cannot be moved. */
  readonly state?: SessionStateFiles
  readonly capabilities: DriverCapabilities
  readonly versions: RuntimeVersions
  /** Looks for the program (the given path, PATH, usual places), its version and its login. Never throws for what it finds. */
  find(options: FindOptions): Promise<RuntimeReport>
  /**
   * Missing where the capabilities have no `planner`. Rejects with `BalletError`, code `runtime.…`, also when it is
   * aborted. What carries the marker is the caller's to end, whatever comes of it.
   */
  readOnlyRun?(run: ReadOnlyRun): Promise<ReadOnlyAnswer>
  /** Resolves when the runtime takes its first message. Rejects with `BalletError`, code `runtime.…`; nothing is left running. */
  start(spec: DriverSpec, onSignal: (signal: DriverSignal) => void): Promise<RuntimeSession>
  resume(
    spec: DriverSpec,
    facts: ResumeFacts,
    onSignal: (signal: DriverSignal) => void,
  ): Promise<{ session: RuntimeSession; recovery: Recovery }>
}
