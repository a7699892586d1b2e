import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { AgentId } from '../../src-shared/ids.ts'
import type { Log } from '../ports.ts'

const LINE_LIMIT = 4_000

/** What an agent process prints by itself is never part of its messages: it goes into the log. */
export function logOutput(
  log: Log,
  agent: AgentId,
  outputs: { stdout: Readable | null; stderr: Readable | null },
): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const input = outputs[name]
    if (input === null) continue
    input.on('error', (error) => log.debug('the output of an agent broke', { agent, error }))
    createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
      const text = line.slice(0, LINE_LIMIT)
      if (name === 'stderr') log.warn('an agent printed', { agent, text })
      else log.info('an agent printed', { agent, text })
    })
  }
}
