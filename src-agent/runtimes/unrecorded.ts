import type { ResumeFacts } from './driver.ts'

/** Whether no message is known to be in the runtime's record: what began its first turn was not told to be. */
export function isUnrecorded({ turn, turnCut, openDeliveries }: ResumeFacts): boolean {
  if (turn !== 1) return turn === 0
  return turnCut && openDeliveries.some(({ steer }) => !steer)
}
