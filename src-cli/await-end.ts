import type { Session, SessionState } from '../src-shared/records.ts'
import { BalletError } from '../src-shared/refusal.ts'
import type { EventBody } from '../src-shared/timeline.ts'
import { type Context, END_LIMIT_MS } from './context.ts'
import { readTimeline } from './follow.ts'

const LOOK_AGAIN_MS = 150

const DONE: Record<'finish' | 'stop', ReadonlySet<SessionState>> = {
  finish: new Set(['finished']),
  stop: new Set(['parked', 'finished', 'cancelled']),
}
const OVER: ReadonlySet<SessionState> = new Set(['parked', 'failed', 'finished', 'cancelled'])

type Notice = Extract<EventBody, { kind: 'notice' }>

/**
 * Waits until what was asked of a session is done: its work is pushed before it ends, which can be refused.
 * `session` is what the command answered. Rejects with `BalletError`: the refusal, such as `push.rejected`,
 * `session.failed`, or `session.slow`.
 */
export async function awaitEnd(
  { ask, world }: Pick<Context, 'ask' | 'world'>,
  session: Session,
  what: 'finish' | 'stop',
): Promise<Session> {
  const since = world.monotonic()
  const errors: Notice[] = []
  let seen = session.lastSeq
  let current = session
  for (;;) {
    if (DONE[what].has(current.state)) return current
    if (OVER.has(current.state)) throw endedOtherwise(current)
    const refused = errors.find(
      ({ text }) => current.reason !== '' && text.startsWith(current.reason),
    )
    if (refused !== undefined) throw notDone(current, refused)
    if (world.monotonic() - since > END_LIMIT_MS) throw slow(current, what)
    await world.sleep(LOOK_AGAIN_MS)
    if (current.lastSeq > seen) {
      seen = await ask((client) =>
        readTimeline(client, session.id, seen, (events) => {
          for (const event of events) {
            if (event.kind === 'notice' && event.level === 'error') errors.push(event)
          }
        }),
      )
    }
    current = await ask((client, limit) => client.sessions.show({ ref: session.id }, limit))
  }
}

function notDone({ ticket, reason, hint }: Session, { code }: Notice): BalletError {
  return new BalletError({
    code: /^[a-z.-]+$/.test(code) ? code : 'session.refused',
    message: `${ticket}: ${reason}`,
    ...(hint === '' ? {} : { hint }),
  })
}

function endedOtherwise({ ticket, state, reason, hint }: Session): BalletError {
  return new BalletError({
    code: `session.${state}`,
    message: `The session of ${ticket} is ${state}${reason === '' ? '.' : `: ${reason}`}`,
    ...(hint === '' ? {} : { hint }),
  })
}

function slow({ ticket, state }: Session, what: string): BalletError {
  return new BalletError({
    code: 'session.slow',
    message: `The session of ${ticket} is still ${state} ${END_LIMIT_MS / 60_000} minutes after it was told to ${what}.`,
    hint: `It goes on; \`ballet session show ${ticket}\` tells how it ended.`,
  })
}
