import { randomUUID } from 'node:crypto'
import { Instant, RequestId } from '../../../src-shared/ids.ts'
import type { Driver } from '../driver.ts'
import { findClaudeCode, VERSIONS } from './find.ts'
import { type DriverPorts, launchSession } from './launch-session.ts'
import { runReadOnly } from './read-only-run.ts'
import { resumeSession } from './resume.ts'
import { captureState, listStates, removeState, restoreState } from './state-files.ts'

const SYSTEM_PORTS: DriverPorts = {
  now: () => Instant.parse(new Date().toISOString()),
  newRequestId: () => RequestId.parse(randomUUID()),
  newConversation: () => randomUUID(),
}

/** Drives Claude Code over its streaming interface. */
export function createClaudeCodeDriver(ports: Partial<DriverPorts> = {}): Driver {
  const own = { ...SYSTEM_PORTS, ...ports }
  return {
    runtime: 'claude-code',
    capabilities: {
      resume: 'proven',
      steer: true,
      permissionRequests: true,
      cost: true,
      images: true,
      ...{ moves: true, mcp: true, usage: true, planner: true },
    },
    versions: VERSIONS,
    state: {
      capture: captureState,
      restore: restoreState,
      remove: removeState,
      list: listStates,
    },
    find: (options) => findClaudeCode(options),
    readOnlyRun: (run) => runReadOnly(run),
    start: (spec, onSignal) =>
      launchSession({
        spec,
        conversation: own.newConversation(),
        resume: false,
        ports: own,
        onSignal,
      }),
    resume: (spec, facts, onSignal) => resumeSession(spec, facts, own, onSignal),
  }
}
