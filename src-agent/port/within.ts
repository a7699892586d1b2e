import type { Clock } from './clock.ts'

/** What `promise` gives, or `'too-late'` after `ms`. The promise goes on and may not reject unseen. */
export async function within<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
): Promise<T | 'too-late'> {
  let cancel = () => {}
  const limit = new Promise<'too-late'>((resolve) => {
    cancel = clock.after(ms, () => resolve('too-late'))
  })
  try {
    return await Promise.race([promise, limit])
  } finally {
    cancel()
  }
}
