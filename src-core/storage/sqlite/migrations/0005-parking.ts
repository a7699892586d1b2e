import type { Database } from 'better-sqlite3'

/** Online windows, parkings under way, and what is kept of parked sessions. */
export function parking(db: Database): void {
  db.exec(`
    ALTER TABLE session ADD COLUMN window TEXT;
    ALTER TABLE session ADD COLUMN park_from TEXT;
    ALTER TABLE session ADD COLUMN saga TEXT;
    ALTER TABLE session ADD COLUMN parked TEXT;
    ALTER TABLE session ADD COLUMN wakes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE session ADD COLUMN preface TEXT;
  `)
}
