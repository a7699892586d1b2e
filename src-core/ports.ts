import type { Channel } from '../src-shared/channel.ts'
import type { AgentId, Instant } from '../src-shared/ids.ts'
import type { Storage } from './storage/port.ts'

export type Clock = {
  now(): Instant
  /** Milliseconds that only grow, for durations. */
  monotonic(): number
  /** Calls back once after `ms`; the answer cancels it. */
  after(ms: number, callback: () => void): () => void
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

export type CorePorts = {
  clock: Clock
  ids: Ids
  log: Log
  storage: Storage
  launcher: Launcher
}
