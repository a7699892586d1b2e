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
    readLines(input, (text) => {
      if (name === 'stderr') log.warn('an agent printed', { agent, text })
      else log.info('an agent printed', { agent, text })
    })
  }
}

/** Lines of a stream, of each no more than its beginning; what follows that is not kept while it comes. */
function readLines(input: Readable, onLine: (text: string) => void): void {
  let begun = ''
  const end = () => {
    if (begun !== '') onLine(begun.replace(/\r$/, ''))
    begun = ''
  }
  input.setEncoding('utf8').on('data', (piece: string) => {
    for (const [index, part] of piece.split('\n').entries()) {
      if (index > 0) end()
      if (begun.length < LINE_LIMIT) begun += part.slice(0, LINE_LIMIT - begun.length)
    }
  })
  input.on('end', end)
}
