import type { Refusal } from '../../src-shared/refusal.ts'
import { refusalOf } from './client.ts'

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000

export type LoopOptions<Answer> = {
  /** One long poll from the current cursor. */
  ask(signal: AbortSignal): Promise<Answer>
  take(answer: Answer): void
  /** The host did not answer, or refused; the loop goes on by itself. */
  onAway(refusal: Refusal): void
  onBack(): void
  /** One poll that takes longer is given up and asked again. */
  limitMs: number
  signal: AbortSignal
  pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

export function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}

async function withLimit<T>(
  work: (signal: AbortSignal) => Promise<T>,
  limitMs: number,
  outer: AbortSignal,
): Promise<T> {
  const inner = new AbortController()
  const abort = () => inner.abort(outer.reason)
  outer.addEventListener('abort', abort)
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      inner.abort()
      reject(new Error(`no answer within ${Math.round(limitMs / 1_000)} s`))
    }, limitMs)
  })
  try {
    return await Promise.race([work(inner.signal), limit])
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', abort)
  }
}

/** Asks again and again until `signal` aborts; after a failure with growing pauses, from where it was. */
export async function followLoop<Answer>(options: LoopOptions<Answer>): Promise<void> {
  const { ask, take, onAway, onBack, limitMs, signal, pause = pauseFor } = options
  let failures = 0
  while (!signal.aborted) {
    try {
      const answer = await withLimit(ask, limitMs, signal)
      if (signal.aborted) return
      if (failures > 0) onBack()
      failures = 0
      take(answer)
    } catch (error) {
      if (signal.aborted) return
      failures += 1
      onAway(refusalOf(error))
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS), signal)
    }
  }
}
