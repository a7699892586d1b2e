import { rm } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import { z } from 'zod'
import { ProjectId, SessionId } from '../../src-shared/ids.ts'
import { accept, BalletError, type Result } from '../../src-shared/refusal.ts'
import type { Committer } from '../commit/committer.ts'
import {
  changeOf,
  EXPORT_NAME,
  KEPT_REMOVE,
  MIRROR_REMOVE,
  TICKET_DELETE,
} from '../decide/change.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { nameExport } from '../moving/name-export.ts'
import type { CorePorts } from '../ports.ts'
import type { ViewJoins } from '../project/view-joins.ts'
import type { Reaping } from '../sessions/reaping.ts'
import type { OutboxEntry } from '../storage/port.ts'
import type { Effect } from './outbox.ts'
import { removeTicket } from './remove-ticket.ts'

export type EffectParts = {
  ports: CorePorts
  committer: Committer
  fleet: Fleet
  reaping: Reaping
  joins: ViewJoins
}

export function createEffects(parts: EffectParts): Readonly<Record<string, Effect>> {
  return {
    [TICKET_DELETE]: {
      carryOut: (entry) => removeTicket(parts, entry),
      // An entry of an earlier version does not say its key.
      name: ({ data }) => `The deletion of ${data.key ?? `the ticket ${data.ticket}`}`,
    },
    [MIRROR_REMOVE]: {
      carryOut: (entry) => removeMirror(parts, entry),
      name: ({ data }) => `The removal of the mirror of the deleted project ${data.project}`,
    },
    [KEPT_REMOVE]: {
      carryOut: (entry) => removeKept(parts, entry),
      name: ({ data }) => `The removal of kept files of the session ${data.session}`,
    },
    [EXPORT_NAME]: {
      carryOut: (entry) => nameExport(parts, entry),
      name: ({ data }) => `The export to ${data.file}`,
    },
  }
}

/** The bare mirror of a project that is gone. */
async function removeMirror(
  { ports, committer }: EffectParts,
  entry: OutboxEntry,
): Promise<Result<undefined>> {
  const folder = ports.paths.mirror(ProjectId.parse(entry.data.project))
  const inside = relative(ports.paths.dataDir, folder)
  if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) {
    throw new BalletError({
      code: 'mirror.outside',
      message: `The mirror ${folder} does not lie in the data folder ${ports.paths.dataDir}.`,
    })
  }
  await rm(folder, { recursive: true, force: true })
  await committer.transact(async () =>
    accept({ change: changeOf({ outboxDone: [entry.id] }), answer: null }),
  )
  return accept(undefined)
}

const KeptNames = z.array(z.string()).nullable()

/** Kept files that nobody needs any more; what the session's row names by now stays. */
async function removeKept(
  { ports, committer }: EffectParts,
  entry: OutboxEntry,
): Promise<Result<undefined>> {
  const session = SessionId.parse(entry.data.session)
  const names = KeptNames.parse(entry.data.names)
  const row = await ports.storage.row('session', session)
  const files = row?.parked?.work.files ?? []
  if (names !== null || files.length === 0) {
    const needed = new Set(files.map(({ name }) => name))
    await ports.kept.remove(session, names?.filter((name) => !needed.has(name)) ?? null)
  }
  await committer.transact(async () =>
    accept({ change: changeOf({ outboxDone: [entry.id] }), answer: null }),
  )
  return accept(undefined)
}
