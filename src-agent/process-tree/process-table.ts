import type { ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { readLinuxTable } from './linux.ts'
import { readPsTable } from './ps.ts'
import { readWindowsTable } from './windows.ts'

/** A process that runs (no zombies). */
export type ProcessRow = ProcessIdentity & {
  parent: number
  /** Process group and, where the system tells it, session; 0 where there is none. */
  group: number
  session: number
  /** The value of `BALLET_SESSION` in its environment, null without one or where it cannot be read. */
  mark: string | null
}

/** Every process of this machine that the user may see. Rejects when the system's table cannot be read. */
export async function readProcessTable(): Promise<ProcessRow[]> {
  switch (process.platform) {
    case 'linux':
      return readLinuxTable()
    case 'win32':
      return readWindowsTable()
    default:
      return readPsTable()
  }
}
