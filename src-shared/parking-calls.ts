import { z } from 'zod'
import { call, command, referenced } from './call.ts'
import { Duration } from './duration.ts'
import { Session } from './records.ts'

/** The part of the contract's `sessions` that is about the online window. */
export const parkingCalls = {
  /** Keeps its work and its state, and frees its agent; a running turn is interrupted first. */
  park: call.input(referenced.extend(command)).output(Session),
  /**
   * Brings a parked, stopped or failed session back, without a word to it. `withoutDamaged`: what is kept of it and
   * damaged is left out, said in the timeline and to the runtime, and stays where it is.
   */
  resume: call
    .input(referenced.extend({ ...command, withoutDamaged: z.boolean().default(false) }))
    .output(Session),
  /** It parks so long from now at the earliest. */
  keep: call.input(referenced.extend({ ...command, for: Duration.default('1h') })).output(Session),
  /** Somebody writes an answer: two minutes more, 30 after the first deadline at most. */
  attend: call.input(referenced).output(Session),
  /** null: the project's online window. */
  edit: call.input(referenced.extend({ ...command, window: Duration.nullable() })).output(Session),
}
