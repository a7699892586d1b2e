import { NOT_PUSHED } from '../src-shared/agent-wire.ts'
import type { Session, SessionState } from '../src-shared/records.ts'
import { BalletError } from '../src-shared/refusal.ts'
import type { EventBody } from '../src-shared/timeline.ts'
import { type Context, END_LIMIT_MS } from './context.ts'
import { readTimeline } from './follow.ts'

const LOOK_AGAIN_MS = 150
/** What takes longer is told while it is waited for. */
const TELL_AFTER_MS = 2_000

type Ending = 'finish' | 'stop' | 'park'

const DONE: Record<Ending, ReadonlySet<SessionState>> = {
  finish: new Set(['finished']),
  stop: new Set(['parked', 'finished', 'cancelled']),
  park: new Set(['parked']),
}
const OVER: ReadonlySet<SessionState> = new Set([
  'parked',
  'failed',
  'finished',
  'cancelled',
  'moved',
])

type Notice = Extract<EventBody, { kind: 'notice' }>

/**
 * Waits until what was asked of a session is done: its work is pushed before it ends, which can be refused.
 * `session` is what the command answered. Rejects with `BalletError`: the refusal, such as `push.rejected`,
 * `session.failed`, or `session.slow`.
 */
export async function awaitEnd(
  { ask, world, print }: Pick<Context, 'ask' | 'world' | 'print'>,
  session: Session,
  what: Ending,
): Promise<Session> {
  const since = world.monotonic()
  const errors: Notice[] = []
  let seen = session.lastSeq
  let current = session
  let told = ''
  for (;;) {
    if (DONE[what].has(current.state)) return current
    const refused = errors.find(
      ({ text }) => current.reason !== '' && text.startsWith(current.reason),
    )
    if (refused !== undefined) throw notDone(current, refused)
    // One that no agent holds stays what it is until it is finished.
    if (OVER.has(current.state) && current.pending !== what) throw endedOtherwise(current)
    if (world.monotonic() - since > END_LIMIT_MS) throw slow(current, what)
    const progress = inWords(current)
    if (!print.isJson && progress !== told && world.monotonic() - since >= TELL_AFTER_MS) {
      told = progress
      world.stderr.write(`${progress}\n`)
    }
    await world.sleep(LOOK_AGAIN_MS)
    current = await ask((client, limit) => client.sessions.show({ ref: session.id }, limit))
    if (current.lastSeq > seen) {
      seen = await ask((client) =>
        readTimeline(client, session.id, seen, (events) => {
          for (const event of events) {
            if (event.kind === 'notice' && event.level === 'error') errors.push(event)
          }
        }),
      )
    }
  }
}

/** What is waited for. */
function inWords({ ticket, state, pending, reason }: Session): string {
  if (reason === '') return `${ticket} is ${state} …`
  return pending === undefined ? `${ticket} is ${state}: ${reason} …` : `${ticket} ${reason} …`
}

/** Why the work of a session that was stopped is only on this machine; undefined where it is pushed. */
export async function whyNotPushed(
  { ask }: Pick<Context, 'ask'>,
  told: Session,
  stopped: Session,
): Promise<BalletError | undefined> {
  if (stopped.lastSeq <= told.lastSeq) return undefined
  let found: BalletError | undefined
  await ask((client) =>
    readTimeline(client, told.id, told.lastSeq, (events) => {
      for (const event of events) {
        if (event.kind !== 'notice' || event.code !== NOT_PUSHED) continue
        found = new BalletError({
          code: NOT_PUSHED,
          message: `${told.ticket} is stopped. ${event.text}`,
        })
      }
    }),
  )
  return found
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
