import { randomUUID } from 'node:crypto'
import { Instant, RequestId } from '../../../src-shared/ids.ts'
import type { Driver } from '../driver.ts'
import { findCodex, VERSIONS } from './find.ts'
import { beginThread, type DriverPorts, launchSession } from './launch-session.ts'
import { resumeSession } from './resume.ts'
import { captureState, listStates, removeState, restoreState } from './state-files.ts'

const SYSTEM_PORTS: DriverPorts = {
  now: () => Instant.parse(new Date().toISOString()),
  newRequestId: () => RequestId.parse(randomUUID()),
  handshakeLimitMs: 30_000,
  answerLimitMs: 10_000,
}

/** Drives Codex through its app server. */
export function createCodexDriver(ports: Partial<DriverPorts> = {}): Driver {
  const own = { ...SYSTEM_PORTS, ...ports }
  return {
    runtime: 'codex',
    capabilities: {
      resume: 'proven',
      moves: true,
      steer: true,
      permissionRequests: true,
      mcp: true,
      usage: true,
      // It tells tokens and no money.
      cost: false,
      images: true,
      // Its sandbox lets a run read everything that the user can read.
      planner: false,
    },
    versions: VERSIONS,
    state: {
      capture: captureState,
      restore: restoreState,
      remove: removeState,
      list: listStates,
    },
    find: (options) => findCodex(options),
    start: async (spec, onSignal) => {
      const open = (server: Parameters<typeof beginThread>[0]) => beginThread(server, spec)
      const { session } = await launchSession({ spec, ports: own, onSignal, open })
      return session
    },
    resume: (spec, facts, onSignal) => resumeSession(spec, facts, own, onSignal),
  }
}
