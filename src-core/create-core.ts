import { agentCalls } from './calls/agent-calls.ts'
import { assumptionCalls } from './calls/assumption-calls.ts'
import type { CallContext } from './calls/context.ts'
import { followCalls } from './calls/follow-calls.ts'
import { hostCalls } from './calls/host-calls.ts'
import { inboxCalls } from './calls/inbox-calls.ts'
import { inputCalls } from './calls/input-calls.ts'
import { projectCalls } from './calls/project-calls.ts'
import { questionCalls } from './calls/question-calls.ts'
import { requestCalls } from './calls/request-calls.ts'
import { sessionCalls } from './calls/session-calls.ts'
import { settingsCalls } from './calls/settings-calls.ts'
import { ticketCalls } from './calls/ticket-calls.ts'
import { Committer } from './commit/committer.ts'
import type { Core } from './core.ts'
import { TICKET_DELETE } from './decide/change.ts'
import { Fleet } from './fleet/fleet.ts'
import { memoryRecords } from './following/memory-records.ts'
import { RecordFollower } from './following/record-follow.ts'
import { TimelineFollower } from './following/timeline-follow.ts'
import { SHUTDOWN_MS } from './limits.ts'
import { createEffects } from './outbox/effects.ts'
import { Outbox } from './outbox/outbox.ts'
import { Planner } from './planner/planner.ts'
import { PlannerReaping } from './planner/planner-reaping.ts'
import type { CorePorts } from './ports.ts'
import { ViewJoins } from './project/view-joins.ts'
import { Assignment } from './sessions/assignment.ts'
import { Deadlines } from './sessions/deadlines.ts'
import { Draining } from './sessions/draining.ts'
import { Finishing } from './sessions/finishing.ts'
import { HeldAnswers } from './sessions/held-answers.ts'
import { ItemIntake } from './sessions/item-intake.ts'
import { KeptWorkKeeper } from './sessions/kept-work.ts'
import { LiveIndex } from './sessions/live-index.ts'
import { refuseParking } from './sessions/park-refusal.ts'
import { PendingWatch } from './sessions/pending-watch.ts'
import { Problems } from './sessions/problems.ts'
import { Reaping } from './sessions/reaping.ts'
import { reconcile } from './sessions/reconcile.ts'
import { SessionWaits } from './sessions/session-waits.ts'
import { Tells } from './sessions/tells.ts'

/** The product without a host, over the ports that a host or a test gives it. Nothing runs before `start`. */
export function createCore(ports: CorePorts): Core {
  const { clock, ids, log, storage, settings } = ports
  const startedAt = clock.now()
  const committer = new Committer(ports)
  const index = new LiveIndex()
  const joins = new ViewJoins(committer.cache, index)
  const timelines = new TimelineFollower(ports, committer.cache)
  const problems = new Problems()
  let stopping = false

  const fleet: Fleet = new Fleet(settings.current.agents, ports, {
    items: (slot, { type: _, ...batch }) => {
      if (slot.hold?.lease === batch.lease) intake.receive(batch)
      else intake.receiveStray(slot, batch)
    },
    live: (slot, message) => {
      const session = slot.hold?.session
      if (session === undefined) return
      if (message.type === 'live.gone') timelines.live.drop(session, message.block)
      else {
        const { type: _, lease, ...piece } = message
        if (!timelines.live.append(session, piece)) {
          log.debug('live text is missing before a piece of it', { lease, block: piece.block })
        }
      }
      timelines.wake(session)
    },
    available: () => {
      reaping.look()
      plannerReaping.look()
      assignment.look()
    },
    lost: (_slot, { lease }, detail) => {
      intake.lose(
        lease,
        stopping
          ? { reason: 'host restarted', detail: 'the host was stopped' }
          : { reason: 'agent died', detail },
      )
    },
    isStoring: (lease) => intake.isStoring(lease),
    changed: (agent) => records.agentChanged(agent),
    learned: (runtime) => records.runtimeChanged(runtime),
  })
  const records = new RecordFollower(ports, joins, memoryRecords(fleet, settings), ids.uuid())
  const intake = new ItemIntake(ports, committer, timelines.live, problems, {
    acknowledge: (lease, n) => fleet.tell(lease, { type: 'items.ack', lease, n }),
    fence: (slotLease) => fleet.tell(slotLease, { type: 'session.release', lease: slotLease }),
    ended: (lease) => {
      fleet.free(lease)
      reaping.look()
      assignment.look()
    },
    capabilities: (runtime) => fleet.capabilities(runtime),
    drained: (lease) => fleet.drained(lease),
    broken: (lease, detail) => fleet.killHolder(lease, detail),
  })
  const assignment = new Assignment(ports, {
    ...{ committer, index, fleet, intake },
    isBusy: (session) => keptWork.isBusy(session) || isDeleted(index.session(session)?.ticketId),
  })
  const reaping = new Reaping(ports, { committer, index, fleet, problems })
  const finishing = new Finishing(ports, {
    ...{ committer, fleet, reaping },
    idle: (session) => keptWork.idle(session),
  })
  const pending = new PendingWatch(clock, fleet)
  const tells = new Tells(ports, fleet, async ({ session, saga }, refusal) => {
    await refuseParking(committer, session, saga, refusal)
  })
  const deadlines = new Deadlines(ports, { committer, index })
  const draining = new Draining(ports, { committer, index, fleet })
  const keptWork: KeptWorkKeeper = new KeptWorkKeeper(ports, {
    ...{ committer, fleet, reaping },
    available: () => assignment.look(),
  })
  const heldAnswers = new HeldAnswers(ports, committer)
  const planner = new Planner(ports, { committer, fleet })
  const plannerReaping = new PlannerReaping(ports, { committer, fleet })
  const waits = new SessionWaits(clock, committer)
  const outbox: Outbox = new Outbox(ports, {
    effects: createEffects({ ports, committer, fleet, reaping, joins }),
    problems,
    ended: () => assignment.look(),
  })
  /** Whatever brings a session of such a ticket back, it gets no agent before its deletion is given up. */
  const isDeleted = (ticket: string | undefined) =>
    ticket !== undefined && outbox.concerns(TICKET_DELETE, 'ticket', ticket) !== undefined

  committer.onCommitted((committed) => index.committed(committed))
  committer.onCommitted((committed) => timelines.committed(committed))
  committer.onCommitted((committed) => records.committed(committed))
  committer.onCommitted((committed) => tells.committed(committed))
  committer.onCommitted((committed) => pending.committed(committed))
  committer.onCommitted((committed) => outbox.committed(committed))
  committer.onCommitted((committed) => heldAnswers.committed(committed))
  committer.onCommitted((committed) => planner.committed(committed))
  committer.onCommitted((committed) => plannerReaping.committed(committed))
  committer.onCommitted((committed) => finishing.committed(committed))
  committer.onCommitted((committed) => deadlines.committed(committed))
  committer.onCommitted((committed) => draining.committed(committed))
  committer.onCommitted((committed) => keptWork.committed(committed))
  committer.onCommitted((committed) => waits.committed(committed))
  committer.onCommitted(({ rows }) => {
    if (rows.length === 0) return
    reaping.look()
    assignment.look()
  })

  const context: CallContext = {
    ports,
    committer,
    index,
    joins,
    fleet,
    draining,
    outbox,
    problems,
    timelines,
    waits,
    records,
    startedAt,
  }
  return {
    calls: {
      host: hostCalls(context),
      projects: projectCalls(context),
      tickets: ticketCalls(context),
      sessions: sessionCalls(context),
      inputs: inputCalls(context),
      settings: settingsCalls(context),
      requests: requestCalls(context),
      questions: questionCalls(context),
      assumptions: assumptionCalls(context),
      inbox: inboxCalls(context),
      agents: agentCalls(context),
      ...followCalls(context),
    },

    async start() {
      await reconcile(ports, { committer, intake })
      await index.load(storage)
      await records.begin()
      await outbox.begin(storage)
      await heldAnswers.load(storage)
      await planner.begin()
      await plannerReaping.load(storage)
      await finishing.begin()
      await keptWork.begin()
      deadlines.begin()
      await draining.wake()
      fleet.launch()
    },

    async stop(limitMs = SHUTDOWN_MS) {
      stopping = true
      assignment.stop()
      reaping.stop()
      outbox.stop()
      heldAnswers.stop()
      planner.stop()
      plannerReaping.stop()
      finishing.stop()
      deadlines.stop()
      draining.stop()
      keptWork.stop()
      intake.drain()
      await fleet.stop(limitMs)
      await intake.idle()
      await committer.queue.idle()
      intake.close()
      timelines.close()
      records.close()
    },
  }
}
