import type { Channel } from '../src-shared/channel.ts'
import type { AgentId, Instant, ProjectId, SessionId, TicketKey } from '../src-shared/ids.ts'
import type { KeptFile } from '../src-shared/parking.ts'
import type { ProjectSettings } from '../src-shared/records.ts'
import type { Refusal, Result } from '../src-shared/refusal.ts'
import type { Settings } from '../src-shared/settings.ts'
import type { Storage } from './storage/port.ts'

export type Clock = {
  now(): Instant
  /** Milliseconds that only grow, for durations. */
  monotonic(): number
  /** Calls back once after `ms`; the answer cancels it. */
  after(ms: number, callback: () => void): () => void
}

/** A clock that also knows of the time in which the machine slept. */
export type BootClock = Clock & {
  /** Milliseconds that only grow, also while the machine sleeps. */
  sinceBoot(): number
}

export type Ids = {
  /** A new UUIDv7. */
  uuid(): string
  /** `bytes` random bytes in hexadecimal. */
  nonce(bytes: number): string
}

export type Log = {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** A started agent process. */
export type AgentProcess = {
  channel: Channel
  pid(): number | undefined
  /** Called once, also when it could not be started. */
  onExit(listener: (exit: { code: number | null; reason: string }) => void): void
  /** Ends it at once (SIGKILL or the system's equivalent). */
  kill(): void
}

/** Starts agents: as utility processes in Electron, as child processes in the headless host. */
export type Launcher = { launch(agent: AgentId, env: Record<string, string>): AgentProcess }

/** Where things lie under the data folder; all absolute. */
export type Paths = {
  dataDir: string
  mirror(project: ProjectId): string
  workspace(ticket: TicketKey, session: SessionId): string
  /** The folder of the kept files of a session. */
  kept(session: SessionId): string
}

/** The sealed files that are kept of parked sessions, which agents write and read. */
export type KeptFiles = {
  /** Reads each to its end; refused with `kept.…` where one is not what it is said to be. */
  verify(session: SessionId, files: readonly KeptFile[]): Promise<Result<undefined>>
  /** Those of the names that are there; the whole folder for null. */
  remove(session: SessionId, names: readonly string[] | null): Promise<void>
}

/** What agents left that lost their host. */
export type Spool = {
  /** Every file of the spool folder; `content` is its JSON, undefined where it is none. */
  read(): Promise<readonly { name: string; content: unknown }[]>
  remove(name: string): Promise<void>
}

export type HostFacts = {
  version: string
  kind: 'desktop' | 'headless'
  pid: number
  /** Free bytes where the data folder lies; null where the system does not tell. */
  freeBytes(): Promise<number | null>
  /** What this machine lacks that Ballet can do without. */
  notes?(): Promise<Refusal[]>
}

/** The settings of the data folder. */
export type SettingsPort = {
  /** As they are for this run. */
  readonly current: Settings
  /**
   * Stores what differs, one change after the other. Rejects with `BalletError`, code `settings.…`; the settings are
   * then as they were.
   */
  change(differing: (current: Settings) => Partial<Settings>): Promise<Settings>
}

/** The sample repository, its ticket and the scripted model. */
export type Demo = {
  /** Makes what is missing and starts the model. Rejects with `BalletError`, code `demo.…`. */
  prepare(): Promise<{
    project: Omit<ProjectSettings, 'name'>
    ticket: { title: string; body: string }
  }>
}

/** Texts for runtimes that are shipped as files. */
export type Texts = {
  /** When to assume and when to ask, for every session. */
  skill: string
  /** What the planner is told before the question. */
  planner: string
}

export type CorePorts = {
  clock: BootClock
  ids: Ids
  log: Log
  storage: Storage
  launcher: Launcher
  settings: SettingsPort
  paths: Paths
  spool: Spool
  host: HostFacts
  /** The whole environment that git, setup commands and runtimes get, before project and session add theirs. */
  environment: Readonly<Record<string, string>>
  texts: Texts
  /** The data key, 32 bytes in base64: read or made when it is first needed. Rejects with `BalletError`, code `key.…`. */
  key(): Promise<string>
  /**
   * Writes the data key to the file of a host without a keychain; `written` is false where it stands there already.
   * Rejects with `BalletError`, code `key.…`.
   */
  exportKey(key: string): Promise<{ file: string; written: boolean }>
  kept: KeptFiles
  demo?: Demo
}
