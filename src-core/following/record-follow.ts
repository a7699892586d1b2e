import type { RecordChange, RecordFollow } from '../../src-shared/contract.ts'
import {
  AssumptionId,
  InputId,
  ProjectId,
  QuestionId,
  RequestId,
  SessionId,
  TicketId,
} from '../../src-shared/ids.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import type { Committed } from '../commit/committer.ts'
import type { Clock } from '../ports.ts'
import type { ViewJoins } from '../project/view-joins.ts'
import { isOpenInput, isOpenQuestion } from '../project/views.ts'
import type { Storage } from '../storage/port.ts'
import type { TicketRow } from '../storage/rows.ts'
import { type ChangedRow, RecordChanges, type RecordTable } from './record-changes.ts'
import { Wakeups } from './wakeups.ts'

/** The records that no storage keeps, as they are now: agents, runtimes, settings. */
export type MemoryRecords = { list(): RecordChange[] }

const EVERYTHING = 'records'
/** Agents that an earlier start of the host may have had. */
const AGENTS_MAX = 32

/** `memory` counts the changes of what no storage keeps, since that start of the host. */
type Cursor = { boot: string; change: number; memory: number }

function parseCursor(text: string | undefined): Cursor | undefined {
  const [, boot, change, memory] = /^([0-9a-f-]+):(\d+):(\d+)$/.exec(text ?? '') ?? []
  if (boot === undefined || change === undefined || memory === undefined) return undefined
  return { boot, change: Number(change), memory: Number(memory) }
}

const keyOf = ({ record, id }: RecordChange) => `${record} ${id}`

const formatCursor = ({ boot, change, memory }: Cursor) => `${boot}:${change}:${memory}`

/** Long polls over projects, tickets, sessions, agents, and what is open of the others, from a cursor. */
export class RecordFollower {
  readonly #storage: Storage
  readonly #joins: ViewJoins
  readonly #memory: MemoryRecords
  readonly #clock: Clock
  readonly #boot: string
  readonly #changes = new RecordChanges()
  readonly #wakeups: Wakeups
  /** When each record in memory changed last, counted since this start of the host. */
  readonly #memoryChanges = new Map<string, { at: number; gone: RecordChange }>()
  #memoryChange = 0

  constructor(
    ports: { storage: Storage; clock: Clock },
    joins: ViewJoins,
    memory: MemoryRecords,
    boot: string,
  ) {
    this.#storage = ports.storage
    this.#clock = ports.clock
    this.#joins = joins
    this.#memory = memory
    this.#boot = boot
    this.#wakeups = new Wakeups(ports.clock)
  }

  async begin(): Promise<void> {
    this.#changes.begin(await this.#storage.change())
  }

  committed(committed: Committed): void {
    if (this.#changes.committed(committed)) this.#wakeups.wake(EVERYTHING)
  }

  agentChanged(id: string): void {
    this.#changed({ record: 'agent', id, value: null })
  }

  runtimeChanged(id: RuntimeName): void {
    this.#changed({ record: 'runtime', id, value: null })
  }

  settingsChanged(): void {
    this.#changed({ record: 'settings', id: 'settings', value: null })
  }

  #changed(gone: RecordChange): void {
    this.#memoryChange += 1
    this.#memoryChanges.set(keyOf(gone), { at: this.#memoryChange, gone })
    this.#wakeups.wake(EVERYTHING)
  }

  close(): void {
    this.#wakeups.close()
  }

  async follow(
    input: { cursor?: string | undefined; waitMs: number },
    signal?: AbortSignal,
  ): Promise<RecordFollow> {
    const cursor = parseCursor(input.cursor)
    if (cursor === undefined || cursor.change > this.#changes.last) return this.#snapshot()
    const until = this.#clock.monotonic() + input.waitMs
    for (;;) {
      const now = this.#now()
      const changes = await this.#after(cursor)
      if (changes.length > 0) {
        return { cursor: formatCursor(now), snapshot: false, changes }
      }
      if (this.#changes.last !== now.change || this.#memoryChange !== now.memory) continue
      const left = until - this.#clock.monotonic()
      if (!(await this.#wakeups.wait(EVERYTHING, left, signal))) {
        return { cursor: formatCursor(now), snapshot: false, changes: [] }
      }
    }
  }

  #now(): Cursor {
    return { boot: this.#boot, change: this.#changes.last, memory: this.#memoryChange }
  }

  async #after({ boot, change, memory }: Cursor): Promise<RecordChange[]> {
    return [
      ...(await this.#recordsAfter(change)),
      ...(boot === this.#boot ? this.#memoryAfter(memory) : this.#allMemory()),
    ]
  }

  async #recordsAfter(change: number): Promise<RecordChange[]> {
    const recent = this.#changes.after(change)
    if (recent === undefined) return this.#storedAfter(change)
    const changes: RecordChange[] = []
    for (const entry of recent) {
      if (entry.is === 'row') changes.push(await this.#record(entry.row))
      else if (entry.is === 'gone') changes.push(goneRecord(entry.table, entry.id))
      else changes.push(await this.#stored(entry.table, entry.id))
    }
    return changes
  }

  async #stored(table: RecordTable, id: string): Promise<RecordChange> {
    const row = await this.#storage.row(table, id)
    return row === undefined ? goneRecord(table, id) : this.#record({ table, row } as ChangedRow)
  }

  async #storedAfter(changedAfter: number): Promise<RecordChange[]> {
    const changes: RecordChange[] = []
    for (const { table, id } of await this.#storage.deletions(changedAfter)) {
      if (table !== 'lease') changes.push(goneRecord(table, id))
    }
    for (const row of await this.#storage.rows({ table: 'project', changedAfter })) {
      changes.push(await this.#record({ table: 'project', row }))
    }
    for (const row of await this.#storage.rows({ table: 'ticket', changedAfter })) {
      changes.push(await this.#record({ table: 'ticket', row }))
    }
    for (const row of await this.#storage.rows({ table: 'session', changedAfter })) {
      changes.push(await this.#record({ table: 'session', row }))
    }
    for (const row of await this.#storage.rows({ table: 'input', changedAfter })) {
      changes.push(await this.#record({ table: 'input', row }))
    }
    for (const row of await this.#storage.rows({ table: 'request', changedAfter })) {
      changes.push(await this.#record({ table: 'request', row }))
    }
    for (const row of await this.#storage.rows({ table: 'question', changedAfter })) {
      changes.push(await this.#record({ table: 'question', row }))
    }
    for (const row of await this.#storage.rows({ table: 'assumption', changedAfter })) {
      changes.push(await this.#record({ table: 'assumption', row }))
    }
    return changes
  }

  async #snapshot(): Promise<RecordFollow> {
    const now = this.#now()
    const changes: RecordChange[] = []
    const tickets = new Map<string, TicketRow>()
    for (const row of await this.#storage.rows({ table: 'project' })) {
      changes.push(await this.#record({ table: 'project', row }))
    }
    for (const row of await this.#storage.rows({ table: 'ticket' })) {
      tickets.set(row.id, row)
      changes.push(await this.#record({ table: 'ticket', row }))
    }
    for (const row of await this.#storage.rows({ table: 'session' })) {
      const ticket = tickets.get(row.ticketId)
      const value = ticket && this.#joins.storedSession(row, ticket)
      if (value !== undefined) changes.push({ record: 'session', id: row.id, value })
    }
    const open = { state: ['queued', 'sent', 'unknown'] as const }
    for (const row of await this.#storage.rows({ table: 'input', where: open })) {
      changes.push(await this.#record({ table: 'input', row }))
    }
    const asked = { state: 'open' } as const
    for (const row of await this.#storage.rows({ table: 'request', where: asked })) {
      changes.push(await this.#record({ table: 'request', row }))
    }
    const unsettled = { state: ['open', 'answered'] as const, inputId: null }
    for (const row of await this.#storage.rows({ table: 'question', where: unsettled })) {
      changes.push(await this.#record({ table: 'question', row }))
    }
    for (const row of await this.#storage.rows({ table: 'assumption', where: asked })) {
      changes.push(await this.#record({ table: 'assumption', row }))
    }
    changes.push(...this.#memory.list())
    return { cursor: formatCursor(now), snapshot: true, changes }
  }

  #memoryAfter(change: number): RecordChange[] {
    if (change >= this.#memoryChange) return []
    const list = new Map(this.#memory.list().map((record) => [keyOf(record), record]))
    return [...this.#memoryChanges]
      .filter(([, { at }]) => at > change)
      .map(([key, { gone }]) => list.get(key) ?? gone)
  }

  /** For a client of an earlier start: also that agents are gone which the fleet had then. */
  #allMemory(): RecordChange[] {
    const changes = this.#memory.list()
    const known = new Set(changes.map(keyOf))
    for (let number = 1; number <= AGENTS_MAX; number += 1) {
      const gone: RecordChange = { record: 'agent', id: `agent-${number}`, value: null }
      if (!known.has(keyOf(gone))) changes.push(gone)
    }
    return changes
  }

  async #record(changed: ChangedRow): Promise<RecordChange> {
    switch (changed.table) {
      case 'project':
        return {
          record: 'project',
          id: changed.row.id,
          value: this.#joins.project(changed.row),
        }
      case 'ticket':
        return {
          record: 'ticket',
          id: changed.row.id,
          value: this.#joins.ticket(changed.row) ?? null,
        }
      case 'session':
        return {
          record: 'session',
          id: changed.row.id,
          value: (await this.#joins.session(changed.row)) ?? null,
        }
      case 'input':
        return {
          record: 'input',
          id: changed.row.id,
          value: isOpenInput(changed.row) ? this.#joins.input(changed.row) : null,
        }
      case 'request': {
        const { row } = changed
        const value = row.state === 'open' ? await this.#joins.request(row) : undefined
        return { record: 'request', id: row.id, value: value ?? null }
      }
      case 'question': {
        const { row } = changed
        const value = isOpenQuestion(row) ? await this.#joins.question(row) : undefined
        return { record: 'question', id: row.id, value: value ?? null }
      }
      case 'assumption': {
        const { row } = changed
        const value = row.state === 'open' ? await this.#joins.assumption(row) : undefined
        return { record: 'assumption', id: row.id, value: value ?? null }
      }
      default:
        return assertNever(changed)
    }
  }
}

function goneRecord(table: RecordTable, id: string): RecordChange {
  switch (table) {
    case 'project':
      return { record: 'project', id: ProjectId.parse(id), value: null }
    case 'ticket':
      return { record: 'ticket', id: TicketId.parse(id), value: null }
    case 'session':
      return { record: 'session', id: SessionId.parse(id), value: null }
    case 'input':
      return { record: 'input', id: InputId.parse(id), value: null }
    case 'request':
      return { record: 'request', id: RequestId.parse(id), value: null }
    case 'question':
      return { record: 'question', id: QuestionId.parse(id), value: null }
    case 'assumption':
      return { record: 'assumption', id: AssumptionId.parse(id), value: null }
    default:
      return assertNever(table)
  }
}
