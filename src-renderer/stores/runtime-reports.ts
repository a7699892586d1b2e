import '../sync/without-jit.ts'
import { useEffect } from 'react'
import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import type { DoctorReport } from '../../src-shared/contract.ts'
import type { ProjectId } from '../../src-shared/ids.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import {
  ACP_PRESETS,
  acpAgentOf,
  loginText,
  OwnRuntime,
  presetOf,
  type RuntimeName,
  titleOfRuntime,
} from '../../src-shared/runtimes.ts'
import type { Settings } from '../../src-shared/settings.ts'
import { type Client, refusalOf } from '../sync/client.ts'
import { recordsStore, useRecords } from '../sync/records.ts'

export type RuntimeReport = DoctorReport['runtimes'][number]

/** What the host found of the runtimes of this machine, when it was asked last. */
type Reports = {
  reports: ReadonlyMap<string, RuntimeReport>
  refusal: Refusal | null
  busy: boolean
  asked: boolean
}

const NOT_ASKED: Reports = { reports: new Map(), refusal: null, busy: false, asked: false }

/** By project, as its sessions find them; those of the machine under `MACHINE`. */
const store = createStore<Readonly<Record<string, Reports>>>(() => ({}))

const MACHINE = 'machine'

/** Asks the host to look at this machine, with what a project adds to the environment; one look of each at a time. */
export async function lookForRuntimes(client: Client, project?: ProjectId): Promise<void> {
  const key = project ?? MACHINE
  const before = store.getState()[key] ?? NOT_ASKED
  if (before.busy) return
  const put = (now: Partial<Reports>) =>
    store.setState((all) => ({ [key]: { ...(all[key] ?? NOT_ASKED), ...now } }))
  put({ busy: true, asked: true, refusal: null })
  try {
    const { runtimes } = await client.host.doctor(project === undefined ? {} : { project })
    put({ reports: new Map(runtimes.map((report) => [report.runtime, report])), busy: false })
  } catch (error) {
    put({ refusal: refusalOf(error), busy: false })
  }
}

/** Looks the first time that somebody needs it, and says then what was found. */
export function useRuntimeReports(client: Client, project?: ProjectId): Reports {
  const key = project ?? MACHINE
  useEffect(() => {
    if (store.getState()[key]?.asked !== true) void lookForRuntimes(client, project)
  }, [client, key, project])
  return useStore(store, (all) => all[key] ?? NOT_ASKED)
}

const NO_AGENTS: Settings['acpAgents'] = {}

/** Agents of the Agent Client Protocol that the settings add. */
export const useAcpAgents = (): Settings['acpAgents'] =>
  useRecords((records) => records.settings.get('settings')?.acpAgents ?? NO_AGENTS)

/** Every runtime that can be chosen: those with a driver of their own, then the others by name. */
export function runtimeNames(own: Settings['acpAgents']): RuntimeName[] {
  const agents = new Set([...Object.keys(ACP_PRESETS), ...Object.keys(own)])
  return [...OwnRuntime.options, ...[...agents].map((name): RuntimeName => `acp:${name}`)]
}

/** What people call a runtime, those of the settings too. */
export const runtimeTitle = (runtime: RuntimeName): string => titleOfRuntime(runtime, ownAgents())

const ownAgents = (): Settings['acpAgents'] =>
  recordsStore().getState().settings.get('settings')?.acpAgents ?? NO_AGENTS

/** How it is installed: the command of a known agent of the protocol; null where the report says it, or nobody knows. */
export function installOf(runtime: RuntimeName): string | null {
  const agent = acpAgentOf(runtime, ownAgents())
  const preset = agent === null ? null : presetOf(agent)
  return preset === null ? null : (ACP_PRESETS[preset]?.install ?? null)
}

/** How it stands with a runtime on this machine, in a few words. */
export function reportWord(report: RuntimeReport | undefined): string {
  if (report === undefined) return ''
  if (report.path === null) return 'not installed'
  const version = report.version ?? 'version not known'
  if (problemsIn(report).length === 0 && report.loggedIn === false) {
    return `${version} · logged in where it is used`
  }
  const login = loginWord(report)
  return login === '' ? version : `${version} · ${login}`
}

/** Empty where it is not known. */
export function loginWord({ loggedIn, login }: Pick<RuntimeReport, 'loggedIn' | 'login'>): string {
  if (loggedIn === null) return ''
  if (!loggedIn) return 'not logged in'
  return `logged in${login === null ? '' : ` by ${loginText(login)}`}`
}

/** What keeps it from working: in the projects that run with it where there are any, each with its name. */
export function problemsIn({
  problem,
  projects = [],
}: Pick<RuntimeReport, 'problem' | 'projects'>): { project: string | null; problem: Refusal }[] {
  if (projects.length === 0) return problem === null ? [] : [{ project: null, problem }]
  return projects.flatMap((each) =>
    each.problem === null ? [] : [{ project: each.name, problem: each.problem }],
  )
}
