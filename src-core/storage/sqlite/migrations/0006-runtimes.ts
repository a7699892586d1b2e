import type { Database } from 'better-sqlite3'

/** What is different in a stage, and sessions that go on with another runtime. */
export function runtimes(db: Database): void {
  db.exec(`
    ALTER TABLE project ADD COLUMN stages TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE session ADD COLUMN chosen_model TEXT;
    ALTER TABLE session ADD COLUMN conversations TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE session ADD COLUMN continue_with TEXT;
  `)
}
