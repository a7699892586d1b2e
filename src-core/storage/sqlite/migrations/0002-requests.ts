import type { Database } from 'better-sqlite3'

/** Permission requests, and what was allowed for the rest of a session. */
export function requests(db: Database): void {
  db.exec(`
    ALTER TABLE session ADD COLUMN grants TEXT NOT NULL DEFAULT '[]';

    CREATE TABLE request (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      call_id TEXT NOT NULL,
      name TEXT NOT NULL,
      tool_kind TEXT NOT NULL,
      title TEXT NOT NULL,
      input TEXT NOT NULL,
      input_blob TEXT,
      facts TEXT NOT NULL,
      state TEXT NOT NULL,
      phase TEXT NOT NULL,
      author TEXT,
      text TEXT,
      turn INTEGER,
      created_at TEXT NOT NULL,
      answered_at TEXT,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX request_change ON request (change);
    CREATE INDEX request_session ON request (session_id, phase);
    CREATE INDEX request_state ON request (state);

    CREATE TRIGGER request_deleted AFTER DELETE ON request BEGIN
      INSERT INTO deletion (change, table_name, id) VALUES ((SELECT change FROM meta), 'request', old.id);
      DELETE FROM domain_event WHERE subject = old.id;
    END;
  `)
}
