import { refuse } from '../../src-shared/refusal.ts'
import type { Calls } from '../core.ts'

type ParkingCalls = Pick<Calls['sessions'], 'park' | 'resume' | 'keep' | 'attend' | 'edit'>

const notYet = async () =>
  refuse('session.cannot-park', 'This build cannot park sessions.', 'Stop the session instead.')

export function parkingCalls(): ParkingCalls {
  return { park: notYet, resume: notYet, keep: notYet, attend: notYet, edit: notYet }
}
