import type { SessionId } from '../../src-shared/ids.ts'
import type { Notice } from './notice.ts'
import type { Thing, Things } from './wanted.ts'

/** A thing that is settled this soon, or that comes and goes, makes no notification. */
export const QUIET_MS = 400
/** After the start, so that the window can show first what it showed last. */
export const FIRST_QUIET_MS = 1_500
/** More of one session wait until some of these are gone. */
export const MOST_OF_A_SESSION = 3

/** What became of each thing so far; things that are gone are forgotten. */
export type Memory = {
  /** False until the records were seen for the first time. */
  begun: boolean
  /** Things that shall have a notification, and from when on (monotonic milliseconds). */
  pending: ReadonlyMap<string, number>
  /** Notifications that are on the screen. */
  shown: ReadonlyMap<string, Notice>
  /** Things that had their notification, or need none: a person saw them. */
  done: ReadonlySet<string>
}

export const BLANK: Memory = {
  begun: false,
  pending: new Map(),
  shown: new Map(),
  done: new Set(),
}

export type Sight = {
  things: Things
  /** Sessions that a person looks at right now. */
  lookedAt: ReadonlySet<SessionId>
  /** Things that have a window of their own open. */
  opened: ReadonlySet<string>
  /** Something can show notifications. */
  canShow: boolean
  /** Monotonic milliseconds. */
  now: number
}

export type Decision = {
  memory: Memory
  show: readonly Notice[]
  close: readonly string[]
  /** Decide again after that time, whatever happens; undefined: not before something changes. */
  againMs: number | undefined
}

/**
 * What is to be shown and taken back. Each thing has one notification at most: none when a person looks at its session,
 * and it is gone as soon as the thing is settled or a person looks at it. What ended before the first sight, or while
 * nothing could show it, has none.
 */
export function decide(before: Memory, sight: Sight): Decision {
  const { things, now } = sight
  const memory = {
    begun: true,
    pending: new Map<string, number>(),
    shown: new Map<string, Notice>(),
    done: new Set<string>(),
  }
  const show: Notice[] = []
  const close: string[] = []
  const perSession = new Map<SessionId, number>()
  const count = (session: SessionId) => perSession.set(session, ofSession(session) + 1)
  const ofSession = (session: SessionId) => perSession.get(session) ?? 0

  for (const [key, notice] of before.shown) {
    if (isSettled(key, sight) || isSeen(key, notice, sight)) close.push(key)
    else {
      memory.shown.set(key, notice)
      count(notice.session)
    }
  }
  let next: number | undefined
  for (const [key, thing] of things) {
    if (before.done.has(key)) memory.done.add(key)
    else if (thing === null) continue
    else if (isPast(thing, before, sight) || isSeen(key, thing, sight)) memory.done.add(key)
    else {
      const { session } = thing
      const due = before.pending.get(key) ?? now + (before.begun ? QUIET_MS : FIRST_QUIET_MS)
      if (sight.canShow && due <= now && ofSession(session) < MOST_OF_A_SESSION) {
        const notice = thing.notice()
        show.push(notice)
        memory.shown.set(key, notice)
        memory.done.add(key)
        count(session)
      } else {
        memory.pending.set(key, due)
        if (due > now) next = Math.min(next ?? due, due)
      }
    }
  }
  return { memory, show, close, againMs: next === undefined ? undefined : next - now }
}

const isSettled = (key: string, { things }: Sight) => (things.get(key) ?? null) === null

/** It ended before anybody looked, or while nothing could tell of it. */
const isPast = ({ waits }: Thing, { begun }: Memory, { canShow }: Sight) =>
  !waits && (!begun || !canShow)

const isSeen = (key: string, { session }: Pick<Thing, 'session'>, { lookedAt, opened }: Sight) =>
  lookedAt.has(session) || opened.has(key)

/** A person put the notification away, or the system did. */
export function putAway(before: Memory, key: string): Memory {
  const shown = new Map(before.shown)
  return shown.delete(key) ? { ...before, shown } : before
}

/** What showed notifications is gone with all of them: what still waits is shown anew. */
export function lostAll(before: Memory): Memory {
  const done = new Set(before.done)
  for (const [key, { waits }] of before.shown) if (waits) done.delete(key)
  return { ...before, done, shown: new Map() }
}
