import type { LeaseId } from '../../src-shared/ids.ts'
import type { RuntimeCapabilities, RuntimeName } from '../../src-shared/runtimes.ts'
import type { Drained } from '../decide/parking.ts'

/** What the intake of an agent's items needs of the rest of Core. */
export type IntakeHandlers = {
  /** Everything of the lease up to `n` is stored. */
  acknowledge(lease: LeaseId, n: number): void
  /** The lease is not the session's current one. */
  fence(lease: LeaseId): void
  /** The lease is over, and its last row change is stored. */
  ended(lease: LeaseId): void
  /** What a runtime can do; undefined while no agent has told it. */
  capabilities(runtime: RuntimeName): RuntimeCapabilities | undefined
  /** Which agents are drained, as the holder of the lease sees it. */
  drained(lease: LeaseId): Drained
  /** A defect: the items cannot be stored, now or later. */
  broken(lease: LeaseId, detail: string): void
}
