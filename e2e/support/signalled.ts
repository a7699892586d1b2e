/** Rejects when this process is told to end, so that who waits can put things away first. */
export function signalled(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => reject(new Error(`It was ended by ${signal}.`)))
    }
  })
}
