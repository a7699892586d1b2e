import type { SessionMarker } from '../../src-shared/agent-wire.ts'
import type { SessionId } from '../../src-shared/ids.ts'

/** Of the pushes of a session that no agent holds. It is the same for each try, so that the next one ends the last. */
export function pushMarker(session: SessionId): SessionMarker {
  return { session, nonce: session.replaceAll('-', '').slice(0, 16).toLowerCase() }
}
