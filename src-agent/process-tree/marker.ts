import type { z } from 'zod'
import type { SessionMarker } from '../../src-shared/agent-wire.ts'

/** The variable that every process of a session carries. */
export const MARK_VARIABLE = 'BALLET_SESSION'

export type Marker = z.infer<typeof SessionMarker> & {
  /** What Ballet's own git runs for the session; absent for everything else. */
  part?: 'git'
}

/** The value of the marker variable: `<session>:<nonce>`, and `<session>:<nonce>:git` for Ballet's own git. */
export function markOf({ session, nonce, part }: Marker): string {
  return part === undefined ? `${session}:${nonce}` : `${session}:${nonce}:${part}`
}

/**
 * The marker of Ballet's own git beside what a session runs. It is another one, since the runtime's tree is ended, also
 * late, while git commits and pushes what that left.
 */
export function gitMarker({ session, nonce }: Marker): Marker {
  return { session, nonce, part: 'git' }
}
