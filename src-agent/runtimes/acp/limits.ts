/** How long an agent may take, in milliseconds. */
export type Limits = {
  /** To answer `initialize`. */
  initializeMs: number
  /** To answer `session/new`. */
  newMs: number
  /** To answer `session/load`, after it told the whole conversation. */
  loadMs: number
  /** To answer what is asked for beside that. */
  answerMs: number
  /** From an interrupt to the end of the turn. */
  interruptMs: number
  /** For each step of a stop, before the agent is ended. */
  stopMs: number
}

export const LIMITS: Limits = {
  initializeMs: 60_000,
  newMs: 60_000,
  loadMs: 120_000,
  answerMs: 10_000,
  interruptMs: 3_000,
  stopMs: 1_000,
}
