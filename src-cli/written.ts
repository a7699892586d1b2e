import type { Writable } from 'node:stream'

/** Resolves when whoever reads the stream has taken all that was written, however slowly; at once when it is gone. */
export function written(stream: Writable): Promise<void> {
  if (stream.destroyed || stream.writableLength === 0) return Promise.resolve()
  return new Promise((resolve) => stream.write('', () => resolve()))
}
