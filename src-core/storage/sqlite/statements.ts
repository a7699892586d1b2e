import type { Database, Statement } from 'better-sqlite3'

type Row = Record<string, unknown>

/** Runs SQL texts, each prepared once. The texts are few: names of tables and columns vary, values are bound. */
export type Statements = {
  get(text: string, values?: readonly unknown[]): Row | undefined
  all(text: string, values?: readonly unknown[]): Row[]
  run(text: string, values?: readonly unknown[]): void
}

export function createStatements(db: Database): Statements {
  const prepared = new Map<string, Statement<unknown[], Row>>()
  const statement = (text: string) => {
    const known = prepared.get(text)
    if (known !== undefined) return known
    const made = db.prepare<unknown[], Row>(text)
    prepared.set(text, made)
    return made
  }
  return {
    get: (text, values = []) => statement(text).get(...values),
    all: (text, values = []) => statement(text).all(...values),
    run: (text, values = []) => {
      statement(text).run(...values)
    },
  }
}
