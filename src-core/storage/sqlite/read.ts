import type { TimelineEvent } from '../../../src-shared/timeline.ts'
import type { Deletion, OutboxEntry, RowQuery } from '../port.ts'
import type { StoredRow, TableName } from '../rows.ts'
import { decodeBlob } from './blob.ts'
import { decodeEvent } from './event.ts'
import type { Statements } from './statements.ts'
import { tables } from './tables.ts'

/** Greater than every character that an id can hold. */
const AFTER_EVERY_ID = '\u{10ffff}'

const EVENT = 'SELECT key & 4294967295 AS seq, turn, at, kind, body FROM timeline'

export function readRows<T extends TableName>(sql: Statements, query: RowQuery<T>): StoredRow<T>[] {
  const table = tables[query.table]
  const tests: string[] = []
  const values: unknown[] = []
  const test = (text: string, ...bound: unknown[]) => {
    tests.push(text)
    values.push(...bound)
  }
  for (const [field, wanted] of Object.entries(query.where ?? {})) {
    const column = table.column(field)
    if (Array.isArray(wanted)) {
      const options = wanted.map((value) => table.encode(field, value))
      const nothing = options.includes(null) ? ` OR ${column} IS NULL` : ''
      test(`(${column} IN (SELECT value FROM json_each(?))${nothing})`, JSON.stringify(options))
    } else if (wanted !== undefined) {
      test(`${column} IS ?`, table.encode(field, wanted))
    }
  }
  if (query.idPrefix !== undefined) {
    test('id >= ? AND id < ?', query.idPrefix, query.idPrefix + AFTER_EVERY_ID)
  }
  if (query.changedAfter !== undefined) test('change > ?', query.changedAfter)
  const where = tests.length === 0 ? '' : ` WHERE ${tests.join(' AND ')}`
  const order = query.newest === true ? 'DESC' : 'ASC'
  const found = sql.all(`${table.select}${where} ORDER BY number ${order} LIMIT ?`, [
    ...values,
    query.limit ?? -1,
  ])
  if (query.newest === true) found.reverse()
  return found.map((record) => table.decode(record) as StoredRow<T>)
}

export function readRow<T extends TableName>(
  sql: Statements,
  name: T,
  id: string,
): StoredRow<T> | undefined {
  const table = tables[name]
  const found = sql.get(`${table.select} WHERE id = ?`, [id])
  return found === undefined ? undefined : (table.decode(found) as StoredRow<T>)
}

export function readDeletions(sql: Statements, after: number): Deletion[] {
  return sql
    .all('SELECT change, table_name, id FROM deletion WHERE change > ? ORDER BY number', [after])
    .map(({ change, table_name, id }) => ({
      change: Number(change),
      table: table_name as TableName,
      id: String(id),
    }))
}

export function readOutbox(sql: Statements): OutboxEntry[] {
  return sql.all('SELECT id, effect, data FROM outbox ORDER BY number').map((entry) => ({
    id: String(entry.id),
    effect: String(entry.effect),
    data: JSON.parse(String(entry.data)),
  }))
}

export function readTimeline(
  sql: Statements,
  session: string,
  range: { before?: number; after?: number; limit: number },
): { events: TimelineEvent[]; last: number } {
  const found = sql.get('SELECT number, last_seq FROM session WHERE id = ?', [session])
  if (found === undefined) return { events: [], last: 0 }
  const last = Number(found.last_seq)
  const from = (range.after ?? 0) + 1
  const to = Math.min((range.before ?? last + 1) - 1, last)
  const forward = range.after !== undefined
  const records =
    from > to
      ? []
      : sql.all(
          `${EVENT} WHERE key BETWEEN (? << 32) | ? AND (? << 32) | ? ` +
            `ORDER BY key ${forward ? 'ASC' : 'DESC'} LIMIT ?`,
          [found.number, from, found.number, to, range.limit],
        )
  const events = records.map((record) => decodeEvent(session, record))
  return { events: forward ? events : events.reverse(), last }
}

export function readTurn(sql: Statements, session: string, turn: number): TimelineEvent[] {
  return sql
    .all(
      `${EVENT} WHERE session = (SELECT number FROM session WHERE id = ?) AND turn = ? ORDER BY key`,
      [session, turn],
    )
    .map((record) => decodeEvent(session, record))
}

export function readBlob(sql: Statements, session: string, blob: string): string | undefined {
  const found = sql.get(
    'SELECT encoding, content FROM blob WHERE session = (SELECT number FROM session WHERE id = ?) AND id = ?',
    [session, blob],
  )
  return found === undefined
    ? undefined
    : decodeBlob(String(found.encoding), found.content as Buffer)
}
