import type { z } from 'zod'
import type { OpenDelivery, SessionSpec } from '../../src-shared/agent-wire.ts'
import { parseDuration } from '../../src-shared/duration.ts'
import type { DeliveryId } from '../../src-shared/ids.ts'
import { acpAgentOf } from '../../src-shared/runtimes.ts'
import type { Settings } from '../../src-shared/settings.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { toldEntries } from '../../src-shared/told-entries.ts'
import { isPartlyKept, usableFiles } from '../decide/damaged-files.ts'
import { isKeptOnly } from '../decide/kept-work.ts'
import type { SessionFacts } from '../decide/session-draft.ts'
import { argsFor } from '../decide/stages.ts'
import { openCalls } from '../decide/turn-cut.ts'
import type { Paths, Texts } from '../ports.ts'
import type { InputRow, LeaseRow, ProjectRow, SessionRow } from '../storage/rows.ts'
import { sessionPrompt } from './prompt.ts'

type Spec = z.infer<typeof SessionSpec>

export type SpecFacts = {
  facts: SessionFacts
  lease: LeaseRow
  project: ProjectRow
  /** The events of the session's last turn. */
  turnEvents: readonly TimelineEvent[]
  /** Those of the one before it: where the last one left nothing, the runtime's record ends with it. */
  turnBefore: readonly TimelineEvent[]
  /** The data key where something of the session is sealed with it; null otherwise. */
  key: string | null
  /** The runtime takes Ballet's tools. */
  hasTools: boolean
}

/** Everything that an agent needs to run the session, also what it must know to bring it back. */
export function buildSpec(
  { facts, lease, project, turnEvents, turnBefore, key, hasTools }: SpecFacts,
  paths: Paths,
  settings: Settings,
  texts: Texts,
): Spec {
  const { session, ticket } = facts
  return {
    session: session.id,
    lease: lease.id,
    nonce: lease.nonce,
    ticket: ticket.key,
    ticketTitle: ticket.title,
    projectName: project.name,
    repo: project.repo,
    baseBranch: project.branch,
    branch: session.branch,
    pushedCommit: session.pushedCommit,
    mirrorDir: paths.mirror(project.id),
    workspaceDir: session.workspace ?? paths.workspace(ticket.key, session.id),
    setup:
      project.setup === null
        ? null
        : { command: project.setup, limitMs: setupLimit(project.setupLimit) },
    runtime: session.runtime,
    runtimePath: settings.runtimePaths[session.runtime] ?? null,
    acp: acpAgentOf(session.runtime, settings.acpAgents),
    model: session.model,
    runtimeArgs: [...argsFor(project, session)],
    env: { ...project.env },
    permission: session.permission,
    grants: [...session.grants],
    prompt: sessionPrompt(texts.skill, { project, stage: session.stage, hasTools }),
    task: session.state === 'parking' ? 'park' : 'run',
    parked: key === null ? null : parkedOf(session, key, paths),
    kept: session.parked?.work.files.map(({ name }) => name) ?? [],
    // One that was moved here ran under leases of another host.
    resume:
      lease.token === 1 && session.parked === null
        ? null
        : resumeFacts(facts, turnEvents, turnBefore),
  }
}

/** What is to be restored first, or where its workspace is gone, which the agent finds out. */
function parkedOf(
  { id, parked, conversation }: SessionRow,
  key: string,
  paths: Paths,
): Spec['parked'] {
  // What a finish has put on the remote is newer than all that was kept before.
  if (parked === null || parked.finished === true) return null
  const { work, restored, withoutDamaged, hasPushed } = parked
  // The state of a conversation that is lost is not tried again.
  const state = work.state?.conversation === conversation ? work.state : null
  const keptDir = paths.kept(id)
  const place = {
    ...{ key, keptDir, restored },
    ...(withoutDamaged ? { withoutDamaged } : {}),
    ...(isPartlyKept(parked) ? { partial: true as const } : {}),
    ...(hasPushed === true ? { behind: true as const } : {}),
  }
  return { ...place, work: { ...work, state, files: usableFiles(parked) } }
}

/** Whether an agent that runs the session can do nothing without the data key. */
export function needsKey({ state, parked }: Pick<SessionRow, 'state' | 'parked'>): boolean {
  return state === 'parking' || isKeptOnly({ parked })
}

/** Milliseconds; null for none. `now` gives a setup no time to run and is taken as the shortest limit. */
function setupLimit(text: string): number | null {
  const ms = parseDuration(text)
  return ms === null ? null : Math.max(1_000, ms ?? 0)
}

function resumeFacts(
  { session, inputs }: SessionFacts,
  turnEvents: readonly TimelineEvent[],
  turnBefore: readonly TimelineEvent[],
): Spec['resume'] {
  return {
    conversation: session.conversation,
    turn: session.turn,
    turnCut: session.turnCut,
    recorded: session.recorded,
    openCalls: openCalls(turnEvents),
    storedRefs: [...turnBefore, ...turnEvents].flatMap(({ ref }) =>
      ref === undefined ? [] : [ref],
    ),
    told: toldEntries([...turnBefore, ...turnEvents]),
    openDeliveries: openDeliveries(inputs),
    costUsd: session.costUsd,
  }
}

/** What was handed over and nobody told the fate of. */
function openDeliveries(inputs: readonly InputRow[]): OpenDelivery[] {
  const open = new Map<DeliveryId, OpenDelivery>()
  for (const { state, delivery, id, steer } of inputs) {
    if (state !== 'sent' || delivery === null) continue
    const known = open.get(delivery)
    if (known === undefined) open.set(delivery, { id: delivery, inputs: [id], steer })
    else known.inputs.push(id)
  }
  return [...open.values()]
}
