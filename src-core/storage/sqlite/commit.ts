import type { Database } from 'better-sqlite3'
import type { TimelineEvent } from '../../../src-shared/timeline.ts'
import type { Commit, CommitAnswer, Expected, LeaseAdvance } from '../port.ts'
import type { StoredRow, TableName } from '../rows.ts'
import { encodeBlob } from './blob.ts'
import { encodeEvent } from './event.ts'
import type { Statements } from './statements.ts'
import { tables } from './tables.ts'

type Committed = Extract<CommitAnswer, { outcome: 'committed' }>

/** A row that another one keeps out, such as a second project of one key; found while writing. */
class TakenError extends Error {
  readonly at: Expected

  constructor(at: Expected) {
    super(`${at.table} ${at.id} meets another row`)
    this.at = at
  }
}

/** Applies a commit in one transaction; whatever it throws, nothing of the commit is stored. */
export function createCommit(db: Database, sql: Statements): (commit: Commit) => CommitAnswer {
  // A commit that waits for the disk also brings down what the commits before it left to the system.
  let durability: Commit['durability'] = 'domain'
  const apply = db.transaction((commit: Commit) => decide(sql, commit))
  return (commit) => {
    if (commit.durability !== durability) {
      db.pragma(`synchronous = ${commit.durability === 'domain' ? 'FULL' : 'NORMAL'}`)
      durability = commit.durability
    }
    try {
      return apply.immediate(commit)
    } catch (error) {
      if (error instanceof TakenError) return { outcome: 'conflict', at: [error.at] }
      throw error
    }
  }
}

function decide(sql: Statements, commit: Commit): CommitAnswer {
  if (commit.receipt !== undefined) {
    const found = readReceipt(sql, commit.receipt.command)
    if (found !== undefined) return { outcome: 'repeated', answer: found.answer }
  }
  const at = [...unexpected(sql, commit), ...alreadyAdvanced(sql, commit)]
  return at.length > 0 ? { outcome: 'conflict', at } : write(sql, commit)
}

export function readReceipt(sql: Statements, command: string): { answer: unknown } | undefined {
  const found = sql.get('SELECT answer FROM receipt WHERE command = ?', [command])
  if (found === undefined) return undefined
  return { answer: found.answer === null ? undefined : JSON.parse(String(found.answer)) }
}

function unexpected(sql: Statements, { expected }: Commit): Expected[] {
  return expected.filter(({ table, id, version }) => {
    const found = sql.get(`SELECT version FROM ${tables[table].name} WHERE id = ?`, [id])
    return (found?.version ?? 0) !== version
  })
}

function alreadyAdvanced(sql: Statements, { advance }: Commit): LeaseAdvance[] {
  if (advance === undefined) return []
  const found = sql.get('SELECT last_item FROM lease WHERE id = ?', [advance.lease])
  if (found === undefined) return [advance]
  const stored = Number(found.last_item)
  const fits = stored < advance.last && (advance.after === undefined || advance.after === stored)
  return fits ? [] : [advance]
}

function write(sql: Statements, commit: Commit): Committed {
  const change = Number(sql.get('UPDATE meta SET change = change + 1 RETURNING change')?.change)
  for (const { table, id } of commit.replaced ?? []) {
    sql.run(`DELETE FROM ${tables[table].name} WHERE id = ?`, [id])
  }
  for (const { table, row } of commit.puts) put(sql, table, { ...row }, change)
  for (const { table, id } of commit.deletes) {
    sql.run(`DELETE FROM ${tables[table].name} WHERE id = ?`, [id])
    if (table === 'ticket') forgetAnswers(sql, id)
  }
  const events = commit.timeline.flatMap((append) => appendEvents(sql, append))
  if (commit.advance !== undefined) {
    sql.run('UPDATE lease SET last_item = ? WHERE id = ?', [
      commit.advance.last,
      commit.advance.lease,
    ])
  }
  writeStreams(sql, commit, change)
  return { outcome: 'committed', change, rows: storedRows(sql, commit), events }
}

/** What commands answered of a ticket that is gone holds its text. */
function forgetAnswers(sql: Statements, ticket: string): void {
  const [id, ticketId] = ['id', 'ticketId'].map((name) => `json_extract(answer, '$.value.${name}')`)
  sql.run(`DELETE FROM receipt WHERE ${id} = ? OR ${ticketId} = ?`, [ticket, ticket])
}

function put(sql: Statements, name: TableName, row: Record<string, unknown>, change: number): void {
  const table = tables[name]
  try {
    sql.run(table.upsert, [...table.values(row), change])
  } catch (error) {
    if (isUniqueViolation(error)) {
      throw new TakenError({ table: name, id: String(row.id), version: 0 })
    }
    throw error
  }
}

const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'SQLITE_CONSTRAINT_UNIQUE'

function appendEvents(
  sql: Statements,
  { session, events, blobs = [] }: Commit['timeline'][number],
): TimelineEvent[] {
  const found = sql.get('SELECT number, last_seq FROM session WHERE id = ?', [session])
  if (found === undefined) throw new Error(`The session ${session} does not exist.`)
  const { number } = found
  let seq = Number(found.last_seq)
  const stored = events.map(({ at, body }): TimelineEvent => {
    seq += 1
    const { turn, kind, text } = encodeEvent(body)
    sql.run(
      'INSERT INTO timeline (key, session, turn, at, kind, body) VALUES ((? << 32) | ?, ?, ?, ?, ?, ?)',
      [number, seq, number, turn, Date.parse(at), kind, text],
    )
    return { session, seq, at, ...body }
  })
  sql.run('UPDATE session SET last_seq = ? WHERE number = ?', [seq, number])
  for (const { id, text } of blobs) {
    const { encoding, content } = encodeBlob(text)
    sql.run(
      'INSERT INTO blob (session, id, encoding, content) VALUES (?, ?, ?, ?) ON CONFLICT (session, id) DO NOTHING',
      [number, id, encoding, content],
    )
  }
  return stored
}

function writeStreams(sql: Statements, commit: Commit, change: number): void {
  if (commit.receipt !== undefined) {
    const { command, answer } = commit.receipt
    sql.run('INSERT INTO receipt (command, at, answer) VALUES (?, ?, ?)', [
      command,
      commit.at,
      JSON.stringify(answer) ?? null,
    ])
  }
  for (const { kind, subject, data } of commit.domain) {
    sql.run('INSERT INTO domain_event (change, at, kind, subject, data) VALUES (?, ?, ?, ?, ?)', [
      change,
      commit.at,
      kind,
      subject,
      JSON.stringify(data),
    ])
  }
  for (const id of commit.outboxDone) sql.run('DELETE FROM outbox WHERE id = ?', [id])
  for (const { id, effect, data } of commit.outbox) {
    sql.run(
      `INSERT INTO outbox (id, effect, data) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET effect = excluded.effect, data = excluded.data`,
      [id, effect, JSON.stringify(data)],
    )
  }
}

/** As they are after the whole commit: with the number of the session's last event, without what was deleted. */
function storedRows(sql: Statements, commit: Commit): Committed['rows'] {
  const rows: { table: TableName; row: StoredRow<TableName> }[] = []
  for (const { table, row } of commit.puts) {
    const found = sql.get(`${tables[table].select} WHERE id = ?`, [row.id])
    if (found !== undefined) {
      rows.push({ table, row: tables[table].decode(found) as StoredRow<TableName> })
    }
  }
  return rows
}
