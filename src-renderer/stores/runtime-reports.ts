import '../sync/without-jit.ts'
import { useEffect } from 'react'
import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import type { DoctorReport } from '../../src-shared/contract.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import {
  ACP_PRESETS,
  acpAgentOf,
  OwnRuntime,
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

const store = createStore<Reports>(() => ({
  reports: new Map(),
  refusal: null,
  busy: false,
  asked: false,
}))

/** Asks the host to look at this machine; one look at a time. */
export async function lookForRuntimes(client: Client): Promise<void> {
  if (store.getState().busy) return
  store.setState({ busy: true, asked: true, refusal: null })
  try {
    const { runtimes } = await client.host.doctor()
    store.setState({
      reports: new Map(runtimes.map((report) => [report.runtime, report])),
      busy: false,
    })
  } catch (error) {
    store.setState({ refusal: refusalOf(error), busy: false })
  }
}

/** Looks the first time that somebody needs it, and says then what was found. */
export function useRuntimeReports(client: Client): Reports {
  useEffect(() => {
    if (!store.getState().asked) void lookForRuntimes(client)
  }, [client])
  return useStore(store)
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
export const runtimeTitle = (runtime: RuntimeName): string =>
  titleOfRuntime(runtime, recordsStore().getState().settings.get('settings')?.acpAgents)

/** How it is installed: the command of a known agent of the protocol; null where the report says it, or nobody knows. */
export function installOf(runtime: RuntimeName): string | null {
  if (acpAgentOf(runtime, {}) === null) return null
  return ACP_PRESETS[runtime.slice('acp:'.length)]?.install ?? null
}

/** How it stands with a runtime on this machine, in a few words. */
export function reportWord(report: RuntimeReport | undefined): string {
  if (report === undefined) return ''
  if (report.path === null) return 'not installed'
  const version = report.version ?? 'version not known'
  if (report.loggedIn === null) return version
  return `${version} · ${report.loggedIn ? `logged in${report.login === null ? '' : ` by ${report.login}`}` : 'not logged in'}`
}
