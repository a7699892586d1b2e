/** Why a session waits though something is queued: a person interrupted it before its turn had begun, or before the runtime had recorded it. */
export const HELD_BACK = 'interrupted: what is queued was not delivered'
