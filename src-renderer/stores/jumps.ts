/** How long what came by itself must be there, in milliseconds, before one key decides it. */
const READ_MS = 700
/** A second Enter within this time was meant for what stood there before. */
const AGAIN_MS = 300

/**
 * Remembers to which item the focus came by itself, so that a key that was meant for another one does nothing there.
 * `now` gives milliseconds of a clock that only goes forward.
 */
export function createJumps(now: () => number) {
  let last: { item: string; at: number } | null = null
  const since = (item: string) => (last?.item === item ? now() - last.at : Number.POSITIVE_INFINITY)
  return {
    /** The focus came to it though nobody moved there. */
    jumped(item: string): void {
      last = { item, at: now() }
    },
    /** A person moved to it, or works on it. */
    moved(item: string): void {
      if (last?.item === item) last = null
    },
    /** One key would decide it, and nobody can have read it; the key makes the wait begin anew. */
    isUnread(item: string): boolean {
      if (since(item) >= READ_MS) return false
      last = { item, at: now() }
      return true
    },
    /** What was prepared for it would be sent by a key that was meant for another one. */
    isSecondPress(item: string): boolean {
      return since(item) < AGAIN_MS
    },
  }
}

export const jumps = createJumps(() => performance.now())
