import { randomUUID } from 'node:crypto'
import { Instant, RequestId } from '../../../src-shared/ids.ts'
import { ACP_CAPABILITIES, type AcpAgent, type RuntimeName } from '../../../src-shared/runtimes.ts'
import type { Driver } from '../driver.ts'
import { findAgent } from './find.ts'
import type { DriverPorts } from './launch.ts'
import { LIMITS } from './limits.ts'
import { traitsOf } from './presets.ts'

const SYSTEM_PORTS: DriverPorts = {
  now: () => Instant.parse(new Date().toISOString()),
  newRequestId: () => RequestId.parse(randomUUID()),
  limits: LIMITS,
}

/** The protocol's library is read when the first session needs it: it takes a while, and an agent may never. */
const library = () => import('./conversation.ts')

/** Drives any agent of the Agent Client Protocol, version 1, over its standard input and output. */
export function createAcpDriver(
  runtime: RuntimeName,
  agent: AcpAgent,
  ports: Partial<DriverPorts> = {},
): Driver {
  const own = { ...SYSTEM_PORTS, ...ports }
  const traits = traitsOf(agent)
  const versions = { minimum: null, tested: [...traits.tested] }
  return {
    runtime,
    capabilities: { ...ACP_CAPABILITIES, cost: traits.cost, images: traits.images },
    versions,
    find: (options) => findAgent({ ...options, runtime, agent, versions }),
    start: async (spec, onSignal) => {
      const { startConversation } = await library()
      return startConversation({ runtime, agent, spec, ports: own, onSignal })
    },
    resume: async (spec, facts, onSignal) => {
      const { resumeConversation } = await library()
      return resumeConversation({ runtime, agent, spec, ports: own, onSignal }, facts)
    },
  }
}
