import type { CommandId } from '../../src-shared/ids.ts'
import { Session } from '../../src-shared/records.ts'
import { type Receipt, receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import {
  attendSession,
  editSession,
  keepSession,
  parkSession,
  resumeSession,
} from '../decide/parking-commands.ts'
import type { CallContext } from './context.ts'
import { type DecideSession, sessionCommand } from './session-command.ts'

type ParkingCalls = Pick<Calls['sessions'], 'park' | 'resume' | 'keep' | 'attend' | 'edit'>

/** The calls about the online window. */
export function parkingCalls(context: CallContext): ParkingCalls {
  const { ids } = context.ports
  const carryOut = (
    call: string,
    { ref, commandId }: { ref: string; commandId?: CommandId | undefined },
    decide: DecideSession,
  ) => {
    const receipt: Receipt<Session> | undefined = receiptOf(call, commandId, Session)
    return sessionCommand(context, ref, decide, receipt)
  }
  return {
    park: (input) => carryOut('sessions.park', input, (facts, now) => parkSession(facts, now, ids)),
    resume: ({ withoutDamaged, ...input }) =>
      carryOut('sessions.resume', input, (facts, now) => resumeSession(facts, now, withoutDamaged)),
    keep: ({ for: duration, ...input }) =>
      carryOut('sessions.keep', input, (facts, now) => keepSession(facts, duration, now)),
    attend: (input) => carryOut('sessions.attend', input, attendSession),
    edit: ({ window, ...input }) =>
      carryOut('sessions.edit', input, (facts, now) => editSession(facts, window, now)),
  }
}
