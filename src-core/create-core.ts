import type { Core } from './core.ts'
import type { CorePorts } from './ports.ts'

export function createCore(_ports: CorePorts): Core {
  throw new Error('The Core is being written.')
}
