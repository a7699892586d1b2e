import type { SessionMarker } from '../../src-shared/agent-wire.ts'
import type { SessionId } from '../../src-shared/ids.ts'

// Of Ballet's own git for sessions that no agent holds. Each is the same for each try, so that the next one ends the last.

const digitsOf = (session: SessionId) => session.replaceAll('-', '').toLowerCase()

/** What restores, pushes and removes the work of a session, one after the other. */
export function pushMarker(session: SessionId): SessionMarker {
  return { session, nonce: digitsOf(session).slice(0, 16) }
}

/** What writes it to a file, also while a push is tried. */
export function packMarker(session: SessionId): SessionMarker {
  return { session, nonce: digitsOf(session).slice(16) }
}

export function unheldMarkers(session: SessionId): SessionMarker[] {
  return [pushMarker(session), packMarker(session)]
}
