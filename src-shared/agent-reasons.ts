/** Why an agent is offline although nothing is wrong: it comes up for the first time, or again. */
export const AGENT_STARTS = ['not started yet', 'is starting'] as const
