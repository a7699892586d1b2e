/** Waits, in real time, until a condition holds; fails with what was waited for. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  limitMs = 5_000,
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + limitMs
  for (;;) {
    const value = await condition()
    if (value !== undefined && value !== null && value !== false) {
      return value as Exclude<T, false | null | undefined>
    }
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms in vain for: ${what}`)
    await tick()
  }
}

/** Lets everything go on that can without a clock. */
export function tick(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Enough of them for whatever a message or a command sets off. */
export async function settle(rounds = 25): Promise<void> {
  for (let round = 0; round < rounds; round += 1) await tick()
}
