import type { ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { identityOf } from './identity.ts'
import { type Marker, markOf } from './marker.ts'

/** What this process started under each mark; needed where environments cannot be read. */
const roots = new Map<string, ProcessIdentity[]>()

export async function rememberRoot(marker: Marker, pid: number): Promise<void> {
  if (process.platform !== 'win32') return
  const identity = await identityOf(pid)
  if (identity === null) return
  const mark = markOf(marker)
  roots.set(mark, [...(roots.get(mark) ?? []), identity])
}

export function rootsOf(mark: string): readonly ProcessIdentity[] {
  return roots.get(mark) ?? []
}

export function forgetRoots(mark: string): void {
  roots.delete(mark)
}
