import { z } from 'zod'
import { AgentItem, ItemBatch } from '../../src-shared/agent-wire.ts'
import { accept } from '../../src-shared/refusal.ts'
import type { Committer } from '../commit/committer.ts'
import { changeRuntime } from '../decide/continue-with.ts'
import { SessionDraft } from '../decide/session-draft.ts'
import type { CorePorts } from '../ports.ts'
import { anewText } from './anew-text.ts'
import type { ItemIntake } from './item-intake.ts'
import { loadFacts } from './session-facts.ts'

type Parts = { committer: Committer; intake: ItemIntake }

/** What is left may be more than one message carries. */
const Spooled = ItemBatch.extend({ items: z.array(AgentItem).min(1) })

const RESTARTED = { reason: 'host restarted', detail: 'the host was restarted' } as const

/**
 * Before the fleet starts nothing runs: what agents left is stored, and every row that claims otherwise is put
 * right. What their processes left running is reaped by the first agent.
 */
export async function reconcile(ports: CorePorts, parts: Parts): Promise<void> {
  await storeSpool(ports, parts)
  for (const lease of await ports.storage.rows({ table: 'lease', where: { endedAt: null } })) {
    ports.log.info('a lease outlived its host', { lease: lease.id, session: lease.sessionId })
    await parts.intake.loseNow(lease.id, RESTARTED)
  }
  await freeUnheld(ports, parts)
}

/** What agents that lost their host left, each item once. A file that helps nobody is removed too. */
async function storeSpool({ spool, log }: CorePorts, { intake }: Parts): Promise<void> {
  for (const { name, content } of await spool.read()) {
    const batch = Spooled.safeParse(content)
    if (!batch.success) {
      log.error('a file of the spool does not decode and is left where it is', {
        name,
        issues: batch.error.issues.slice(0, 5),
      })
      continue
    }
    const stored = await intake.storeLeft(batch.data)
    if (stored.ok) log.info('stored what an agent left', { name, ...stored.value })
    else log.warn('not all that an agent left could be stored', { name, ...stored.refusal })
    await spool.remove(name)
  }
}

/** Sessions that claim an agent without a lease that goes on. */
async function freeUnheld({ storage, log, ids }: CorePorts, { committer }: Parts): Promise<void> {
  const held = await storage.rows({
    table: 'session',
    where: { state: ['starting', 'working', 'waiting', 'resuming', 'parking'] },
  })
  for (const { id, state, leaseId } of held) {
    if ((state === 'resuming' || state === 'parking') && leaseId === null) continue
    log.warn('a session claims an agent that it does not have', { session: id, state })
    await committer.transact(async (read, now) => {
      const facts = await loadFacts(read, id)
      if (facts === undefined) return accept({ change: null, answer: null })
      const isChanged = facts.session.continueWith !== null
      const anew = isChanged ? await anewText(storage, facts, 'continued') : ''
      const draft = new SessionDraft(facts, now)
      if (state !== 'parking') draft.move('resuming', RESTARTED.detail)
      draft.set({
        leaseId: null,
        agent: null,
        queuedAt: now,
        turnStartedAt: null,
        pending: facts.session.pending === 'finish' ? 'finish' : null,
      })
      changeRuntime(draft, anew, ids)
      return accept({ change: draft.change(), answer: null })
    })
  }
}
