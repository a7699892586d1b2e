import { randomUUID } from 'node:crypto'
import { Instant, RequestId } from '../../../src-shared/ids.ts'
import type { Driver } from '../driver.ts'
import { findOpencode, VERSIONS } from './find.ts'
import { type DriverPorts, launchSession } from './launch-session.ts'
import { resumeSession } from './resume.ts'
import { captureState, listStates, removeState, restoreState } from './state-files.ts'

const SYSTEM_PORTS: DriverPorts = {
  now: () => Instant.parse(new Date().toISOString()),
  newRequestId: () => RequestId.parse(randomUUID()),
}

/** Drives opencode through a server of its own for each session. */
export function createOpencodeDriver(ports: Partial<DriverPorts> = {}): Driver {
  const own = { ...SYSTEM_PORTS, ...ports }
  return {
    runtime: 'opencode',
    capabilities: {
      resume: 'proven',
      moves: true,
      steer: true,
      permissionRequests: true,
      mcp: true,
      usage: true,
      cost: true,
      images: true,
      // A run that is sure to read one folder only would need a data folder without the user's login.
      planner: false,
    },
    versions: VERSIONS,
    state: {
      capture: captureState,
      restore: restoreState,
      remove: removeState,
      list: listStates,
    },
    find: (options) => findOpencode(options),
    start: (spec, onSignal) =>
      launchSession({ spec, ports: own, onSignal, conversation: async () => null }),
    resume: (spec, facts, onSignal) => resumeSession(spec, facts, own, onSignal),
  }
}
