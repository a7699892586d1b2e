import type { z } from 'zod'
import type { SessionMarker } from '../../src-shared/agent-wire.ts'

/** The variable that every process of a session carries. */
export const MARK_VARIABLE = 'BALLET_SESSION'

export type Marker = z.infer<typeof SessionMarker>

/** The value of the marker variable: `<session>:<nonce>`. */
export function markOf(marker: Marker): string {
  return `${marker.session}:${marker.nonce}`
}
