import type { Session } from '../src-shared/records.ts'
import type { Context } from './context.ts'
import { readTimeline } from './follow.ts'

/** How many inputs that were queued when the session was as in `before` never reached it. */
export async function countUndelivered(
  { ask }: Pick<Context, 'ask'>,
  before: Session,
): Promise<number> {
  if (before.queuedInputs === 0) return 0
  let count = 0
  await ask((client) =>
    readTimeline(client, before.id, before.lastSeq, (events) => {
      count += events.filter(({ kind }) => kind === 'input.cancelled').length
    }),
  )
  return count
}
