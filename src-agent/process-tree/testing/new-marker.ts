import { randomBytes, randomUUID } from 'node:crypto'
import { SessionMarker } from '../../../src-shared/agent-wire.ts'

/** Of a session that there is not. */
export const newMarker = (): SessionMarker =>
  SessionMarker.parse({ session: randomUUID(), nonce: randomBytes(8).toString('hex') })
