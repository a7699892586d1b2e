import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import {
  AGENT_WIRE_VERSION,
  FromAgent,
  type Probe,
  type ProbeFinding,
} from '../../src-shared/agent-wire.ts'
import type { MachineReport } from '../../src-shared/headless-host.ts'
import { AgentId } from '../../src-shared/ids.ts'
import { accept, BalletError, type Refusal, type Result, refuse } from '../../src-shared/refusal.ts'
import { Settings } from '../../src-shared/settings.ts'
import { runtimesInUse } from '../decide/known-runtimes.ts'
import { HEARTBEAT_MS, RUNTIMES_PROBE_MS } from '../limits.ts'
import type { Launcher } from '../ports.ts'
import { inspectDatabase, type ProjectRuntimes } from '../storage/sqlite/database.ts'
import { type DataFolder, layOut } from './data-folder.ts'
import { selectEnvironment } from './environment.ts'
import { takeHostLock } from './host-lock.ts'
import { readLoginShellEnvironment } from './login-shell.ts'
import { machineNotes } from './machine-notes.ts'
import { judgeRuntimes } from './runtime-findings.ts'
import { readSettings } from './settings-file.ts'
import { freeBytes, systemClock } from './system.ts'

/** What an agent that only looks gets on top of its limit to start and to say that the limit passed. */
const GRACE_MS = 10_000

type Found = Extract<ProbeFinding, { kind: 'runtimes' }>

export type ExamineOptions = {
  dataDir: string
  version: string
  launcher: Launcher
  env?: NodeJS.ProcessEnv
}

/**
 * Looks at this machine and a data folder on which no host runs, and changes nothing. Every part is looked at, also
 * when another one is not as it should be.
 */
export async function examine({
  dataDir,
  version,
  launcher,
  env = process.env,
}: ExamineOptions): Promise<MachineReport> {
  const folder = layOut(dataDir)
  const problems: Refusal[] = []
  const notes: Refusal[] = []
  const keep = (error: unknown) => {
    problems.push(refusalOf(error))
    return null
  }
  const isThere = await lookAtFolder(folder).catch(keep)
  const settings = (await readSettings(folder.settings).catch(keep)) ?? Settings.parse({})
  const place = isThere === true ? folder.dataDir : tmpdir()
  const database = await lookAtDatabase(folder, isThere === true).catch(keep)
  const projects = database?.projects ?? []
  const [found, shell, more] = await Promise.all([
    askAgent(launcher, {
      ...{ dataDir: place, settings, projects },
      env: selectEnvironment(env, settings.passEnv),
    }),
    readLoginShellEnvironment({ env, execPath: process.execPath }),
    machineNotes(env),
  ])
  notes.push(...more)
  if (shell.problem !== undefined) {
    notes.push({
      code: 'environment.login-shell',
      message: shell.problem,
      hint: 'The application, started from the desktop, then knows only what the desktop gives it. See what the profile of the shell does.',
    })
  }
  if (!found.ok) problems.push(found.refusal)
  else {
    const used = runtimesInUse(projects, settings)
    const judged = judgeRuntimes(found.value.runtimes, used, settings)
    problems.push(...judged.problems)
    notes.push(...judged.notes)
    if (found.value.git.path === null) problems.push(NO_GIT)
  }
  return {
    host: null,
    version,
    dataDir: folder.dataDir,
    git: found.ok ? found.value.git : { path: null, version: null },
    runtimes: found.ok ? found.value.runtimes : [],
    storage: database?.storage ?? null,
    notes,
    problems,
  }
}

export const NO_GIT: Refusal = {
  code: 'git.not-found',
  message: 'git was not found on this machine.',
  hint: 'Install git, and start Ballet again.',
}

/** Whether the data folder is there already. Rejects with `data.unusable`. */
async function lookAtFolder({ dataDir }: DataFolder): Promise<boolean> {
  const found = await stat(dataDir).catch(() => null)
  const unusable = (why: string) =>
    new BalletError({
      code: 'data.unusable',
      message: `The data folder ${dataDir} cannot be used: ${why}.`,
      hint: 'Make it a folder that you may write, or name another one with --data or BALLET_DATA.',
    })
  if (found !== null && !found.isDirectory()) throw unusable('it is not a folder')
  if (found !== null && !(await mayWrite(dataDir))) throw unusable('it may not be written')
  return found !== null
}

const mayWrite = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )

/** Null where there is none yet. Rejects with `storage.…`, or `host.running`. */
async function lookAtDatabase(
  folder: DataFolder,
  isThere: boolean,
): Promise<{ storage: MachineReport['storage']; projects: ProjectRuntimes[] } | null> {
  const { database } = folder
  const size = isThere ? await stat(database).catch(() => null) : null
  if (size === null || size.size === 0) return null
  // Nobody may open it meanwhile; who holds the folder and does not answer is told by this.
  const lock = takeHostLock(folder, {
    kind: 'headless',
    pid: process.pid,
    startedAt: systemClock.now(),
  })
  try {
    const { projects, ...seen } = inspectDatabase(database)
    return {
      storage: { file: database, ...seen, freeBytes: await freeBytes(dirname(database)) },
      projects,
    }
  } finally {
    lock.release()
  }
}

type RuntimesProbe = Extract<Probe, { kind: 'runtimes' }>

/** What is asked of an agent about git and the runtimes, or about them as one project finds them. */
export function runtimesProbe(
  { runtimePaths: paths, acpAgents }: Settings,
  of?: RuntimesProbe['of'],
): RuntimesProbe {
  return { kind: 'runtimes', paths, acpAgents, ...(of === undefined ? {} : { of }) }
}

/** The same for the machine, and for each project with what it runs. */
export function machineProbe(
  settings: Settings,
  projects: readonly ProjectRuntimes[],
): RuntimesProbe {
  return {
    ...runtimesProbe(settings),
    projects: projects.map((project) => ({
      ...{ id: project.id, name: project.name, env: { ...project.env } },
      runtimes: [...runtimesInUse([project], settings)],
    })),
  }
}

type Asked = {
  dataDir: string
  env: Record<string, string>
  settings: Settings
  projects: readonly ProjectRuntimes[]
}

/** Starts an agent, has it look for git and the runtimes, and ends it. */
function askAgent(
  launcher: Launcher,
  { dataDir, env, settings, projects }: Asked,
): Promise<Result<Found>> {
  const id = 'doctor'
  return new Promise((resolve) => {
    const agent = AgentId.parse('agent-1')
    const started = launcher.launch(agent, { ...env, BALLET_AGENT: agent })
    const settle = (result: Result<Found>) => {
      clearTimeout(timer)
      resolve(result)
      // It holds nothing that it would have to hand over.
      started.kill()
    }
    const failed = (why: string) =>
      settle(
        refuse(
          'agent.failed',
          `An agent that was to look at this machine ${why}.`,
          'Start Ballet and look into its log; if this installation is damaged, run its set-up again.',
        ),
      )
    const timer = setTimeout(() => failed('did not answer in time'), RUNTIMES_PROBE_MS + GRACE_MS)
    started.onExit(({ reason }) => failed(`ended: ${reason}`))
    started.channel.onMessage((raw) => {
      const { data: message } = FromAgent.safeParse(raw)
      if (message?.type === 'hello') {
        const probe = machineProbe(settings, projects)
        started.channel.send({ type: 'probe', id, probe, limitMs: RUNTIMES_PROBE_MS })
      }
      if (message?.type !== 'probe.found' || message.id !== id) return
      const { finding, refusal } = message
      if (finding?.kind === 'runtimes') settle(accept(finding))
      else if (refusal !== null) settle({ ok: false, refusal })
      else failed('found nothing')
    })
    started.channel.send({
      type: 'init',
      wire: AGENT_WIRE_VERSION,
      agent,
      heartbeatMs: HEARTBEAT_MS,
      ...{ dataDir, env },
    })
  })
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof BalletError) return error.toRefusal()
  const message = error instanceof Error ? error.message : String(error)
  return { code: 'doctor.failed', message: `A part of this machine could not be read: ${message}` }
}
