import type { Database } from 'better-sqlite3'

/** Whether the runtime has recorded anything of its conversation; of one that was told something, or may have been, it has. */
export function recorded(db: Database): void {
  db.exec(`
    ALTER TABLE session ADD COLUMN recorded INTEGER NOT NULL DEFAULT 0;
    UPDATE session SET recorded = 1 WHERE conversation IS NOT NULL AND EXISTS (
      SELECT 1 FROM input WHERE input.session_id = session.id AND input.state IN ('delivered', 'unknown')
    );
  `)
}
