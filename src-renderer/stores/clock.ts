import { useSyncExternalStore } from 'react'

/** One timer for all that shows an age; it runs only while something looks at it. */
function createTicker(everyMs: number) {
  const listeners = new Set<() => void>()
  let now = Date.now()
  let timer: ReturnType<typeof setInterval> | undefined
  const tick = () => {
    now = Date.now()
    for (const listener of listeners) listener()
  }
  return {
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      if (listeners.size === 1) {
        now = Date.now()
        timer = setInterval(tick, everyMs)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) clearInterval(timer)
      }
    },
    now: () => now,
  }
}

const seconds = createTicker(1_000)
const minutes = createTicker(20_000)

/** Milliseconds since 1970; the component renders again every second. */
export function useSeconds(): number {
  return useSyncExternalStore(seconds.subscribe, seconds.now)
}

/** The same, for ages that are told in minutes. */
export function useMinutes(): number {
  return useSyncExternalStore(minutes.subscribe, minutes.now)
}
