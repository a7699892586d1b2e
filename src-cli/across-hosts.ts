import type { Client, Connection } from './connection.ts'
import type { World } from './world.ts'

/** How long a follower waits for a host that went away. */
export const HOST_BACK_LIMIT_MS = 60_000
const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 2_000
/** One answer of the host; longer than it waits at most for something to tell. */
const ANSWER_LIMIT_MS = 60_000

export type AcrossHosts = {
  world: Pick<World, 'connect' | 'sleep' | 'monotonic'>
  dataDir: string
  connection: Connection
  signal: AbortSignal
  /** Tells people that the host went away or is back. */
  onHost(is: 'gone' | 'back'): void
}

/**
 * Runs what follows a host, with the next host when one goes away; `run` begins again where it was. Resolves with it
 * or at the signal; rejects with what it was refused, and when the host stays away. Closes the connection.
 */
export async function acrossHosts(
  { world, dataDir, connection, signal, onHost }: AcrossHosts,
  run: (client: Client) => Promise<void>,
): Promise<void> {
  let current = connection
  try {
    for (;;) {
      try {
        await run(current.client)
        return
      } catch (error) {
        if (signal.aborted) return
        if (current.isOpen()) throw error
        onHost('gone')
        current.close()
        const back = await reconnect(world, dataDir, signal)
        if (back === undefined) return
        current = back
        onHost('back')
      }
    }
  } finally {
    current.close()
  }
}

/** Makes one call; a host that does not answer ends it with a `TimeoutError`. */
export async function within<T>(
  outer: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController()
  const abort = () => inner.abort(outer?.reason)
  const timer = setTimeout(
    () => inner.abort(new DOMException('the host did not answer', 'TimeoutError')),
    ANSWER_LIMIT_MS,
  )
  outer?.addEventListener('abort', abort)
  try {
    outer?.throwIfAborted()
    return await call(inner.signal)
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', abort)
  }
}

async function reconnect(
  world: AcrossHosts['world'],
  dataDir: string,
  signal: AbortSignal,
): Promise<Connection | undefined> {
  const since = world.monotonic()
  let pause = FIRST_RETRY_MS
  for (;;) {
    await world.sleep(pause, signal)
    if (signal.aborted) return undefined
    try {
      return await world.connect(dataDir)
    } catch (error) {
      if (world.monotonic() - since > HOST_BACK_LIMIT_MS) throw error
    }
    pause = Math.min(pause * 2, LAST_RETRY_MS)
  }
}
