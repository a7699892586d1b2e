import type { z } from 'zod'
import { CONTRACT_VERSION, type DoctorReport, type HostInfo } from '../../src-shared/contract.ts'
import { ProjectSettings, Session } from '../../src-shared/records.ts'
import { accept, BalletError, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import { type Receipt, receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import { runtimesInUse } from '../decide/known-runtimes.ts'
import { machineProbe, NO_GIT, runtimesProbe } from '../host/examine.ts'
import { judgeRuntimes, plannerNotes } from '../host/runtime-findings.ts'
import { RUNTIMES_PROBE_MS } from '../limits.ts'
import type { ProjectRow } from '../storage/rows.ts'
import { type CallContext, gone } from './context.ts'
import { housekeepingCalls } from './housekeeping-calls.ts'
import { ensureProject } from './project-calls.ts'
import { resolveProject } from './resolve.ts'
import { addAndStart } from './ticket-calls.ts'

/** Less free than this is told before it is a failure. */
const LOW_BYTES = 512 * 1024 * 1024

const DEMO = 'Demo'

export function hostCalls(context: CallContext): Calls['host'] {
  return {
    info: async () => accept(hostInfo(context)),
    doctor: ({ project }) => doctorCall(context, project),
    ...housekeepingCalls(context),
    demo: ({ commandId }) => demo(context, receiptOf('host.demo', commandId, Session)),
  }
}

function hostInfo({ ports, fleet, startedAt }: CallContext): z.infer<typeof HostInfo> {
  const { host, paths } = ports
  return {
    contract: CONTRACT_VERSION,
    version: host.version,
    kind: host.kind,
    dataDir: paths.dataDir,
    pid: host.pid,
    agents: fleet.size,
    runtimes: [...fleet.runtimes],
    startedAt,
  }
}

async function doctorCall(
  context: CallContext,
  ref: string | undefined,
): Promise<Result<z.infer<typeof DoctorReport>>> {
  if (ref === undefined) return accept(await doctor(context, null))
  const project = await resolveProject(context.committer.cache, ref)
  return project.ok ? accept(await doctor(context, project.value)) : project
}

/** `project`: as its sessions find the runtimes. */
async function doctor(
  context: CallContext,
  project: ProjectRow | null,
): Promise<z.infer<typeof DoctorReport>> {
  const { ports, fleet, index, problems } = context
  const settings = ports.settings.current
  const projects = project === null ? [...index.projects] : [project]
  const probe =
    project === null
      ? machineProbe(settings, projects)
      : runtimesProbe(settings, { env: { ...project.env } })
  const [found, storage, freeBytes] = await Promise.all([
    fleet.ask(probe, RUNTIMES_PROBE_MS),
    ports.storage.info(),
    ports.host.freeBytes(),
  ])
  const wrong: Refusal[] = [...problems.list]
  const notes = [...((await ports.host.notes?.()) ?? []), ...plannerNotes(settings, fleet)]
  if (!found.ok) wrong.push(found.refusal)
  else {
    const used = runtimesInUse(projects, settings)
    const judged = judgeRuntimes(found.value.runtimes, used, settings)
    wrong.push(...judged.problems)
    notes.push(...judged.notes)
    if (found.value.git.path === null) {
      wrong.push(NO_GIT)
    }
  }
  for (const agent of fleet.agents) {
    if (agent.state !== 'offline' || agent.restarts === 0) continue
    wrong.push({
      code: 'agent.offline',
      message: `${agent.id} is offline: it ${agent.reason}.`,
      hint: 'It is started again by itself; the cause is in the log of the host.',
    })
  }
  if (freeBytes !== null && freeBytes < LOW_BYTES) {
    wrong.push({
      code: 'storage.low',
      message: `Only ${Math.floor(freeBytes / (1024 * 1024))} MiB are free where ${ports.paths.dataDir} lies.`,
      hint: 'Make room: a full disk stops all sessions.',
    })
  }
  return {
    host: hostInfo(context),
    git: found.ok ? found.value.git : { path: null, version: null },
    runtimes: found.ok ? found.value.runtimes : [],
    storage: { ...storage, freeBytes },
    problems: wrong,
    notes,
  }
}

async function demo(
  context: CallContext,
  receipt: Receipt<Session> | undefined,
): Promise<Result<Session>> {
  const { committer, ports } = context
  const earlier = await committer.earlier(receipt)
  if (earlier !== undefined) return earlier
  if (ports.demo === undefined) {
    return refuse(
      'demo.missing',
      'This host has no demo.',
      'Start the demo in the application, or with: npm start -- --demo',
    )
  }
  let prepared: Awaited<ReturnType<typeof ports.demo.prepare>>
  try {
    prepared = await ports.demo.prepare()
  } catch (error) {
    if (error instanceof BalletError) return { ok: false, refusal: error.toRefusal() }
    throw error
  }
  const settings = ProjectSettings.parse({ ...prepared.project, name: DEMO })
  const project = await ensureProject(context, settings)
  if (!project.ok) return project
  return committer.transact<Session>(async (read, now) => {
    const row = await read.row('project', project.value.id)
    if (row === undefined) return gone('project')
    return addAndStart(context, row, prepared.ticket, now)
  }, receipt)
}
