/** Why a session waits though something is queued: a person interrupted it before its turn had begun. */
export const HELD_BACK = 'interrupted before its turn began: what is queued was not delivered'
