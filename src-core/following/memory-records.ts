import type { RecordChange } from '../../src-shared/contract.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { SettingsPort } from '../ports.ts'
import type { MemoryRecords } from './record-follow.ts'

/** The agents, what their runtimes can do, and the settings, as records. */
export function memoryRecords(fleet: Fleet, settings: SettingsPort): MemoryRecords {
  return {
    list: () => [
      ...fleet.agents.map(
        (agent): RecordChange => ({ record: 'agent', id: agent.id, value: agent }),
      ),
      ...fleet.runtimes.map(
        (runtime): RecordChange => ({ record: 'runtime', id: runtime.runtime, value: runtime }),
      ),
      { record: 'settings', id: 'settings', value: settings.current },
    ],
  }
}
