import type { Instant } from '../../src-shared/ids.ts'
import { accept } from '../../src-shared/refusal.ts'
import type { Committed, Committer } from '../commit/committer.ts'
import { ATTEND_MS, NO_DEADLINE } from '../decide/online-window.ts'
import { beginPark, parkUnheld } from '../decide/parking.ts'
import { SessionDraft, type SessionFacts } from '../decide/session-draft.ts'
import { DEADLINE_TICK_MS, RETRY_MS } from '../limits.ts'
import type { CorePorts } from '../ports.ts'
import type { SessionRow } from '../storage/rows.ts'
import type { LiveIndex } from './live-index.ts'
import { loadFacts } from './session-facts.ts'

/** A clock that differs by more from what it should be was set. */
const JUMP_MS = 10_000

/** The timer of a machine that is awake is late by no more than this. */
const LATE_MS = 2_000

/** In so many looks at least a machine that is awake has counted what a session's people must have had. */
const LOOKS = 4

/** A deadline as this run of the host knows it; all in milliseconds. */
type Entry = {
  parkAt: Instant
  /** From where it was moved away, as on the row: another one belongs to another wait, or to another clock. */
  parkFrom: Instant | null
  /** By how much the clock that `parkFrom` was read from was ahead of the one that nobody sets. */
  wallAhead: number
  /** By the clock that goes on while the machine sleeps, and that nobody sets. */
  due: number
  /** How long the machine was awake in this wait, and up to when that is counted. */
  awake: number
  countedTo: number
  /** No session parks that was awake for less: its people had no chance. */
  chance: number
  /** It was moved away for somebody, by a clock that may have been set since. */
  isAttended: boolean
  /** Where it was moved to from here: no other wait than before. */
  movedTo: Instant | null
  busy: boolean
}

type Ports = Pick<CorePorts, 'clock' | 'ids' | 'log'>

/**
 * Parks what nobody answered in time. The rows are the timers: they survive a restart. A clock that is set moves them,
 * and a machine that slept parks what is due when it wakes, but gives people a moment where they had none.
 */
export class Deadlines {
  readonly #ports: Ports
  readonly #committer: Committer
  readonly #index: LiveIndex
  readonly #entries = new Map<string, Entry>()
  /** Of the projects, by id. */
  readonly #windows = new Map<string, string>()
  #planned = 0
  /** When all were looked at last: changes of others come in between, and must not put the next look off. */
  #lookedAt = 0
  #cancel: (() => void) | null = null
  #stopped = false

  constructor(ports: Ports, parts: { committer: Committer; index: LiveIndex }) {
    this.#ports = ports
    this.#committer = parts.committer
    this.#index = parts.index
  }

  begin(): void {
    this.#lookedAt = this.#ports.clock.monotonic()
    for (const { id, window } of this.#index.projects) this.#windows.set(id, window)
    for (const row of this.#index.sessions) this.#see(row)
    this.#plan()
  }

  committed({ rows, deletes }: Committed): void {
    for (const each of rows) {
      if (each.table === 'session') this.#see(each.row)
      if (each.table === 'project') this.#projectChanged(each.row)
    }
    for (const { table, id } of deletes) {
      if (table === 'session') this.#entries.delete(id)
      if (table === 'project') this.#windows.delete(id)
    }
    this.#plan()
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  #see({ id, parkAt, parkFrom }: Pick<SessionRow, 'id' | 'parkAt' | 'parkFrom'>): void {
    const known = this.#entries.get(id)
    if (parkAt === null) {
      this.#entries.delete(id)
      return
    }
    if (known?.parkAt === parkAt) return
    const { clock } = this.#ports
    const now = clock.sinceBoot()
    // Somebody is at it, and it was moved away for them.
    const before = known?.parkFrom === parkFrom ? known : undefined
    // By a clock that was set meanwhile, what is moved away may be past all the same.
    const due =
      before !== undefined && this.#isSet(before)
        ? Math.max(before.due, now + ATTEND_MS)
        : now + Math.max(0, Date.parse(parkAt) - this.#wallNow())
    const chance = known?.chance ?? ATTEND_MS
    const isMoved = before !== undefined || known?.movedTo === parkAt
    this.#entries.set(id, {
      ...{ parkAt, parkFrom, due },
      wallAhead: before?.wallAhead ?? this.#wallAhead(),
      awake: known?.awake ?? 0,
      countedTo: known?.countedTo ?? clock.monotonic(),
      chance: isMoved ? chance : Math.min(chance, due - now),
      isAttended: before !== undefined,
      movedTo: null,
      busy: false,
    })
  }

  /** What waits now of a project with another window waits so long from now on. */
  #projectChanged({ id, window }: { id: string; window: string }): void {
    const before = this.#windows.get(id)
    this.#windows.set(id, window)
    if (before === undefined || before === window) return
    for (const row of this.#index.sessions) {
      if (row.projectId !== id || row.window !== null) continue
      this.#change(row.id, row.parkAt, (draft) => draft.set(NO_DEADLINE))
    }
  }

  #plan(): void {
    this.#cancel?.()
    this.#cancel = null
    if (this.#stopped || this.#entries.size === 0) return
    for (const entry of this.#entries.values()) this.#count(entry)
    const now = this.#ports.clock.sinceBoot()
    const waits = [...this.#entries.values()].map(({ due, chance, busy }) =>
      busy ? RETRY_MS : Math.min(Math.max(0, due - now), Math.max(RETRY_MS, chance / LOOKS)),
    )
    const nextLook = this.#lookedAt + DEADLINE_TICK_MS - this.#ports.clock.monotonic()
    this.#planned = Math.min(Math.max(0, nextLook), ...waits)
    this.#cancel = this.#ports.clock.after(this.#planned, () => this.#tick())
  }

  #tick(): void {
    this.#cancel = null
    const now = this.#ports.clock.sinceBoot()
    this.#lookedAt = this.#ports.clock.monotonic()
    for (const [id, entry] of this.#entries) {
      this.#count(entry)
      if (entry.busy) continue
      if (this.#isSet(entry)) {
        // By a clock that was set, who writes could not move it further.
        const atLeast = entry.isAttended ? ATTEND_MS : 0
        this.#move(id, entry, entry.due > now ? entry.due - now : atLeast)
      } else if (entry.due <= now) this.#due(id, entry)
    }
    this.#plan()
  }

  /** On some systems the monotonic clock goes on while the machine sleeps; its timers do not. */
  #count(entry: Entry): void {
    const now = this.#ports.clock.monotonic()
    entry.awake += Math.min(now - entry.countedTo, this.#planned + LATE_MS)
    entry.countedTo = now
  }

  #due(id: string, entry: Entry): void {
    if (entry.awake < entry.chance) {
      this.#move(id, entry, entry.chance)
      return
    }
    this.#change(id, entry.parkAt, (draft) => {
      const { leaseId, state } = draft.session
      const why = { why: 'window' as const }
      if (leaseId === null) parkUnheld(draft, why, this.#ports.ids)
      // One that is being brought back is parked when it waits again.
      else if (state !== 'resuming') beginPark(draft, leaseId, why, this.#ports.ids)
    })
  }

  /** The deadline is so far away, by the clock on the wall as it goes now. */
  #move(id: string, entry: Entry, ms: number): void {
    this.#change(id, entry.parkAt, (draft) => {
      const at = new Date(this.#wallNow() + ms).toISOString()
      entry.movedTo = at
      draft.set({ parkAt: at, parkFrom: at })
    })
  }

  /** Of a session that still has the deadline; what cannot be stored is tried again with the next tick. */
  #change(id: string, parkAt: Instant | null, change: (draft: SessionDraft) => void): void {
    const entry = this.#entries.get(id)
    if (entry !== undefined) entry.busy = true
    this.#store(id, parkAt, change).then(
      () => this.#settled(id, entry),
      (error: unknown) => {
        this.#ports.log.error('a deadline is not stored yet', { session: id, error })
        this.#settled(id, entry)
      },
    )
  }

  async #store(
    id: string,
    parkAt: Instant | null,
    change: (draft: SessionDraft) => void,
  ): Promise<void> {
    await this.#committer.transact(async (read, now) => {
      const facts: SessionFacts | undefined = await loadFacts(read, id)
      if (facts === undefined || facts.session.parkAt !== parkAt) {
        return accept({ change: null, answer: null })
      }
      const draft = new SessionDraft(facts, now)
      change(draft)
      return accept({ change: draft.change(), answer: null })
    })
  }

  #settled(id: string, entry: Entry | undefined): void {
    if (entry === undefined || this.#entries.get(id) !== entry) return
    entry.busy = false
    // Nothing came of it: not at once again.
    entry.due = Math.max(entry.due, this.#ports.clock.sinceBoot() + RETRY_MS)
    this.#plan()
  }

  /** Whether the clock on the wall was set since the deadline was read from it. */
  #isSet({ wallAhead }: Entry): boolean {
    return Math.abs(this.#wallAhead() - wallAhead) > JUMP_MS
  }

  /** By how much the clock on the wall is ahead of the one that nobody sets. */
  #wallAhead(): number {
    return this.#wallNow() - this.#ports.clock.sinceBoot()
  }

  #wallNow(): number {
    return Date.parse(this.#ports.clock.now())
  }
}
