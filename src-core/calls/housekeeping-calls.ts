import type { FoundThing, Leftover } from '../../src-shared/moving.ts'
import { accept, BalletError, type Result } from '../../src-shared/refusal.ts'
import { SerialQueue } from '../commit/serial-queue.ts'
import type { Calls } from '../core.ts'
import { type Known, whyLeftOver } from '../decide/leftovers.ts'
import { GC_PROBE_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { CallContext } from './context.ts'

/** The calls that look after the data folder. */
export function housekeepingCalls(context: CallContext): Pick<Calls['host'], 'exportKey' | 'gc'> {
  const { ports } = context
  // Each begins by ending what the one before it left.
  const queue = new SerialQueue()
  return {
    exportKey: async () => {
      try {
        return accept(await ports.exportKey(await ports.key()))
      } catch (error) {
        if (error instanceof BalletError) return { ok: false, refusal: error.toRefusal() }
        throw error
      }
    },
    gc: ({ remove }) => queue.run(() => collect(context, remove)),
  }
}

type Judged = { thing: FoundThing; why: string }

async function collect(
  { ports, fleet }: CallContext,
  remove: boolean,
): Promise<Result<Leftover[]>> {
  const projects = await ports.storage.rows({ table: 'project' })
  const envs = projects.map(({ env }) => ({ ...env }))
  const found = await fleet.ask({ kind: 'things.find', envs }, GC_PROBE_MS)
  if (!found.ok) return found
  const judged = judge(found.value.things, await known(ports))
  if (!remove || judged.length === 0) return accept(judged.map((each) => view(each, false)))
  // A mirror goes last: a workspace that borrows from it may go before it.
  const ordered = [...judged].sort((a, b) => rank(a) - rank(b))
  const things = ordered.map(({ thing }) => thing)
  const removed = await fleet.ask({ kind: 'things.remove', things, envs }, GC_PROBE_MS)
  if (!removed.ok) return removed
  return accept(
    ordered.map((each, index) => {
      const refusal = removed.value.refusals[index] ?? null
      return { ...view(each, refusal === null), refusal }
    }),
  )
}

const rank = ({ thing }: Judged) => (thing.kind === 'mirror' ? 1 : 0)

function judge(things: readonly FoundThing[], rows: Known): Judged[] {
  return things.flatMap((thing) => {
    const why = whyLeftOver(thing, rows)
    return why === null ? [] : [{ thing, why }]
  })
}

function view({ thing: { kind, path, bytes }, why }: Judged, removed: boolean): Leftover {
  return { kind, path, bytes, why, removed, refusal: null }
}

async function known({ storage, paths }: CorePorts): Promise<Known> {
  const [projects, tickets, sessions, leases, planned] = await Promise.all([
    storage.rows({ table: 'project' }),
    storage.rows({ table: 'ticket' }),
    storage.rows({ table: 'session' }),
    storage.rows({ table: 'lease', where: { reaped: false } }),
    storage.rows({ table: 'question', where: { planner: ['runs', 'left'] } }),
  ])
  const keys = new Map(tickets.map(({ id, key }) => [id, key]))
  const workspaces = sessions.flatMap(({ id, ticketId, workspace }) => {
    const key = keys.get(ticketId)
    return [workspace, key === undefined ? null : paths.workspace(key, id)]
  })
  return {
    ...{ projects, sessions, leases, planned },
    workspaces: new Set(workspaces.filter((path) => path !== null)),
  }
}
