import type { Database } from 'better-sqlite3'
import { openDatabase } from './sqlite/database.ts'
import { migrations } from './sqlite/migrations/index.ts'

/** Makes a database file of an older version with these rows; the session's last event is number 7. */
export function writeOldDatabase(
  file: string,
  version: number,
  rows: { project: object; ticket: object; session: object; input?: object },
): void {
  const old = openDatabase(file, migrations.slice(0, version))
  old.transaction(() => {
    insertOldRow(old, 'project', rows.project)
    insertOldRow(old, 'ticket', rows.ticket)
    insertOldRow(old, 'session', rows.session, { lastSeq: 7 })
    if (rows.input !== undefined) insertOldRow(old, 'input', rows.input)
  })()
  old.close()
}

/** Puts a row into a table of an older version: a value into each column that it has there. */
function insertOldRow(db: Database, table: string, row: object, more: object = {}): void {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const values = new Map(
    Object.entries({ ...row, ...more, version: 1, change: 1 }).map(([name, value]) => [
      snake(name),
      typeof value === 'object' && value !== null
        ? JSON.stringify(value)
        : typeof value === 'boolean'
          ? Number(value)
          : value,
    ]),
  )
  const columns = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table)
  const known = columns.filter((name): name is string => values.has(String(name)))
  db.prepare(
    `INSERT INTO ${table} (${known.map((name) => `"${name}"`).join(', ')}) ` +
      `VALUES (${known.map(() => '?').join(', ')})`,
  ).run(...known.map((name) => values.get(name)))
}
