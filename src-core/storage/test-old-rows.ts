import type { Database } from 'better-sqlite3'

/** Puts a row into a table of an older version: a value into each column that it has there. */
export function insertOldRow(db: Database, table: string, row: object, more: object = {}): void {
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
