import type { ProcessIdentity } from '../../src-shared/agent-wire.ts'
import { identityKey } from './identity.ts'
import { type Marker, markOf } from './marker.ts'
import { type ProcessRow, readProcessTable } from './process-table.ts'
import { rootsOf } from './roots.ts'

/**
 * Every running process of these sessions, oldest first: those that carry a marker, and those that dropped
 * their environment but descend from one that carries it or are in a session or group that such a one leads.
 */
export async function processesWith(markers: readonly Marker[]): Promise<ProcessIdentity[]> {
  if (markers.length === 0) return []
  const rows = await readProcessTable()
  return selectMarked(rows, markers.map(markOf)).map(({ pid, startTime }) => ({ pid, startTime }))
}

/** The process that began each session, as far as it runs. */
export async function oldestOf(markers: readonly Marker[]): Promise<ProcessIdentity[]> {
  if (markers.length === 0) return []
  const rows = await readProcessTable()
  return markers.flatMap((marker) => {
    const [oldest] = selectMarked(rows, [markOf(marker)])
    return oldest === undefined ? [] : [{ pid: oldest.pid, startTime: oldest.startTime }]
  })
}

/** The rows of the table that belong to the marks; this process itself never does. */
export function selectMarked(rows: readonly ProcessRow[], marks: readonly string[]): ProcessRow[] {
  const wanted = new Set(marks)
  const started = new Set(marks.flatMap((mark) => rootsOf(mark).map(identityKey)))
  const selected = new Set<number>()
  const startOf = new Map(rows.map((row) => [row.pid, row]))
  // A stale parent (Windows keeps the number of one that is gone) is younger than its alleged child.
  const isChild = (row: ProcessRow) => {
    const parent = startOf.get(row.parent)
    return selected.has(row.parent) && parent !== undefined && compareStart(parent, row) <= 0
  }
  const leaders = new Set<number>()
  for (const row of rows) {
    const isMarked = row.mark !== null && wanted.has(row.mark)
    if (!isMarked && !started.has(identityKey(row))) continue
    selected.add(row.pid)
    if (isMarked && (row.session === row.pid || row.group === row.pid)) leaders.add(row.pid)
  }
  selected.delete(process.pid)
  leaders.delete(process.pid)
  let grows = selected.size > 0
  while (grows) {
    grows = false
    for (const row of rows) {
      if (selected.has(row.pid) || row.pid === process.pid || row.pid <= 1) continue
      const belongs = isChild(row) || leaders.has(row.session) || leaders.has(row.group)
      if (!belongs) continue
      selected.add(row.pid)
      grows = true
    }
  }
  return rows
    .filter((row) => selected.has(row.pid))
    .sort((a, b) => compareStart(a, b) || a.pid - b.pid)
}

function compareStart(a: ProcessIdentity, b: ProcessIdentity): number {
  const difference = Number(a.startTime) - Number(b.startTime)
  return Number.isNaN(difference) ? Date.parse(a.startTime) - Date.parse(b.startTime) : difference
}
