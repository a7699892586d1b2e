import { setTimeout as sleep } from 'node:timers/promises'

export interface WaitOptions {
  /** Limit in milliseconds; default `WAIT_LIMIT_MS`. */
  readonly timeoutMs?: number
  /** Milliseconds between two looks; default 25. */
  readonly everyMs?: number
  /** What to show of the state when the limit is reached. */
  readonly state?: () => unknown
}

/** Against hanging: on a busy machine everything takes long. */
export const WAIT_LIMIT_MS = 60_000

type Nothing = undefined | null | false

/**
 * Looks until `check` gives something, and returns that. An error of `check` counts as "not yet" and
 * is shown when the limit is reached.
 */
export async function waitFor<T>(
  what: string,
  check: () => T | Nothing | Promise<T | Nothing>,
  options: WaitOptions = {},
): Promise<T> {
  const { timeoutMs = WAIT_LIMIT_MS, everyMs = 25, state } = options
  const deadline = performance.now() + timeoutMs
  let problem: unknown
  for (;;) {
    try {
      const value = await check()
      if (value !== undefined && value !== null && value !== false) return value
      problem = undefined
    } catch (error) {
      problem = error
    }
    if (performance.now() >= deadline) break
    await sleep(everyMs)
  }
  const details = [`Waited ${timeoutMs} ms in vain for: ${what}`]
  if (problem !== undefined) details.push(`The last look failed: ${String(problem)}`)
  if (state) details.push(`State: ${show(state())}`)
  throw new Error(details.join('\n'), { cause: problem })
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? String(value))
}
