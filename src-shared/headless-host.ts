import type { DoctorReport, HostInfo } from './contract.ts'
import type { TicketKey } from './ids.ts'

export type HeadlessHostOptions = {
  /** Absolute path of the data folder; made when it is not there. */
  dataDir: string
  /** How many agents this run has; the setting's number when absent. */
  agents?: number
}

/** A running host without Electron. */
export type HeadlessHost = {
  info: HostInfo
  /** Where clients connect. */
  socket: string
  /** Resolves when the host ended by itself, with what made it end. */
  failed: Promise<Error>
  /**
   * Parks every session: one that waits at once, one that works when its turn ends or after its grace; `fast`: all
   * within seconds, what is not on the remote is pushed later. Said again it hurries. Resolves when no session holds an
   * agent any more, or with `late` when some do and there is no time left. Never rejects.
   */
  leave(how: 'gently' | 'fast'): Promise<'drained' | 'late' | 'cancelled'>
  /** Told of the tickets whose sessions still hold agents while the host leaves, whenever they are others. */
  onHolding(listener: (tickets: readonly TicketKey[]) => void): void
  /** Orderly and within a limit: agents hand over what they have, sessions go on at the next start. */
  close(): Promise<void>
  /** At once: agents are killed, sessions are reconciled at the next start. */
  kill(): void
}

/** A report on this machine and a data folder on which no host runs. */
export type MachineReport = Omit<DoctorReport, 'host' | 'storage'> & {
  host: null
  version: string
  dataDir: string
  /** Null where there is no database yet. */
  storage: DoctorReport['storage'] | null
}

/**
 * What the built headless host (`out/node/server.js`) exports. Programs load it by path, so that nothing of it is
 * bundled into them. Rejects with a `BalletError`, such as `host.running` or `storage.newer`, and changes nothing then.
 */
export type HeadlessHostModule = {
  startHeadlessHost(options: HeadlessHostOptions): Promise<HeadlessHost>
  /** Looks and changes nothing. */
  examineMachine(options: Pick<HeadlessHostOptions, 'dataDir'>): Promise<MachineReport>
}
