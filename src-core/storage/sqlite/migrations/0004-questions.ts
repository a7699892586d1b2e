import type { Database } from 'better-sqlite3'

/** Questions and assumptions, what a project says about both, and since when a session is in its state. */
export function questions(db: Database): void {
  db.exec(`
    ALTER TABLE project ADD COLUMN sources TEXT NOT NULL DEFAULT '["README*","*.md","docs/**/*.md"]';
    ALTER TABLE project ADD COLUMN planner INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE project ADD COLUMN skill TEXT;
    ALTER TABLE project ADD COLUMN notify TEXT NOT NULL DEFAULT '["question","request","ended"]';

    ALTER TABLE ticket ADD COLUMN questions INTEGER NOT NULL DEFAULT 0;

    ALTER TABLE session ADD COLUMN state_since TEXT NOT NULL DEFAULT '';
    ALTER TABLE session ADD COLUMN progress TEXT;
    ALTER TABLE session ADD COLUMN outcome TEXT;
    ALTER TABLE session ADD COLUMN outcome_text TEXT NOT NULL DEFAULT '';
    UPDATE session SET state_since = updated_at;

    CREATE TABLE question (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      ticket_id TEXT NOT NULL,
      project_id TEXT NOT NULL,
      key TEXT NOT NULL UNIQUE,
      question TEXT NOT NULL,
      context TEXT,
      options TEXT NOT NULL,
      multiple INTEGER NOT NULL,
      urgency TEXT NOT NULL,
      state TEXT NOT NULL,
      held_by TEXT NOT NULL,
      planner TEXT NOT NULL,
      nonce TEXT NOT NULL,
      draft TEXT,
      answer TEXT,
      undo_until TEXT,
      held TEXT,
      input_id TEXT,
      overturned TEXT,
      withdrawn TEXT,
      turn INTEGER,
      created_at TEXT NOT NULL,
      reached_person_at TEXT,
      answered_at TEXT,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX question_change ON question (change);
    CREATE INDEX question_session ON question (session_id, state);
    CREATE INDEX question_ticket ON question (ticket_id);
    CREATE INDEX question_project ON question (project_id);
    CREATE INDEX question_state ON question (state, input_id);
    CREATE INDEX question_planner ON question (planner);

    CREATE TABLE assumption (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      ticket_id TEXT NOT NULL,
      project_id TEXT NOT NULL,
      assumption TEXT NOT NULL,
      reason TEXT NOT NULL,
      alternatives TEXT NOT NULL,
      reversible_by TEXT,
      state TEXT NOT NULL,
      text TEXT,
      turn INTEGER,
      created_at TEXT NOT NULL,
      reviewed_at TEXT,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX assumption_change ON assumption (change);
    CREATE INDEX assumption_session ON assumption (session_id);
    CREATE INDEX assumption_ticket ON assumption (ticket_id);
    CREATE INDEX assumption_project ON assumption (project_id);
    CREATE INDEX assumption_state ON assumption (state);
  `)
  for (const table of ['question', 'assumption']) {
    db.exec(`
      CREATE TRIGGER ${table}_deleted AFTER DELETE ON ${table} BEGIN
        INSERT INTO deletion (change, table_name, id) VALUES ((SELECT change FROM meta), '${table}', old.id);
        DELETE FROM domain_event WHERE subject = old.id;
      END;
    `)
  }
}
