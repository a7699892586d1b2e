export type { Call, Calls, Core } from './core.ts'
export { createCore } from './create-core.ts'
export type { DataFolder } from './host/data-folder.ts'
export { dataKeyFile } from './host/data-key.ts'
export { examine } from './host/examine.ts'
export { createExitNotice } from './host/exit-notice.ts'
export { createHostLog } from './host/host-log.ts'
export { makeFolder } from './host/make-folder.ts'
export { type Host, type HostOptions, openHost } from './host/open-host.ts'
export { logOutput } from './host/process-output.ts'
export {
  createQuitting,
  type Holding,
  hostDrain,
  type Left,
  type Quitting,
} from './host/quitting.ts'
export { systemClock, systemIds } from './host/system.ts'
export { createWireChannel, type Wire, type WireChannel } from './host/wire-channel.ts'
export type {
  AgentProcess,
  Clock,
  CorePorts,
  Demo,
  HostFacts,
  Ids,
  Launcher,
  Log,
  Paths,
  Spool,
} from './ports.ts'
export { createRouter, type Router } from './router/router.ts'
