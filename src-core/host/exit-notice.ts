/** How an agent process ended. */
export type Exit = { code: number | null; reason: string }

/** Tells of a process's end whoever listens, also who listens after it. */
export function createExitNotice(): {
  /** Only the first counts. */
  tell(exit: Exit): void
  onExit(listener: (exit: Exit) => void): void
} {
  let known: Exit | undefined
  const listeners: ((exit: Exit) => void)[] = []
  return {
    tell: (exit) => {
      if (known !== undefined) return
      known = exit
      for (const listener of listeners) listener(exit)
    },
    onExit: (listener) => {
      if (known === undefined) listeners.push(listener)
      else {
        const exit = known
        queueMicrotask(() => listener(exit))
      }
    },
  }
}
