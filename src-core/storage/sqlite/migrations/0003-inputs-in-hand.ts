import type { Database } from 'better-sqlite3'

/** Images of inputs, and whether an input was handed over in the middle of a turn. */
export function inputsInHand(db: Database): void {
  db.exec(`
    ALTER TABLE input ADD COLUMN images TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE input ADD COLUMN steer INTEGER NOT NULL DEFAULT 0;
  `)
}
