import type { Database } from 'better-sqlite3'

/** What is different in a stage. */
export function runtimes(db: Database): void {
  db.exec("ALTER TABLE project ADD COLUMN stages TEXT NOT NULL DEFAULT '{}'")
}
