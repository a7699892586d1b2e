import type { Database } from 'better-sqlite3'

/**
 * Rows in the order in which they came (`number`), their tombstones, the two streams, receipts and the outbox.
 *
 * An event's key is the number of its session in the upper and its own in the lower 32 bits: a session's events
 * lie together, and rows up to a page need no overflow page, as they would in a table without rowid.
 */
export function first(db: Database): void {
  db.exec(`
    CREATE TABLE meta (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      change INTEGER NOT NULL
    ) STRICT;
    INSERT INTO meta (one, change) VALUES (1, 0);

    CREATE TABLE project (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      key TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      repo TEXT NOT NULL,
      branch TEXT NOT NULL,
      runtime TEXT NOT NULL,
      permission TEXT NOT NULL,
      model TEXT,
      runtime_args TEXT NOT NULL,
      setup TEXT,
      setup_limit TEXT NOT NULL,
      env TEXT NOT NULL,
      "window" TEXT NOT NULL,
      max_sessions INTEGER,
      next_number INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX project_change ON project (change);

    CREATE TABLE ticket (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      project_id TEXT NOT NULL REFERENCES project (id) DEFERRABLE INITIALLY DEFERRED,
      key TEXT NOT NULL UNIQUE,
      title TEXT NOT NULL,
      body TEXT NOT NULL,
      status TEXT NOT NULL,
      stage TEXT NOT NULL,
      priority INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX ticket_change ON ticket (change);
    CREATE INDEX ticket_project ON ticket (project_id);

    CREATE TABLE session (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      ticket_id TEXT NOT NULL REFERENCES ticket (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      project_id TEXT NOT NULL REFERENCES project (id) DEFERRABLE INITIALLY DEFERRED,
      stage TEXT NOT NULL,
      runtime TEXT NOT NULL,
      runtime_version TEXT,
      model TEXT,
      permission TEXT NOT NULL,
      conversation TEXT,
      state TEXT NOT NULL,
      reason TEXT NOT NULL,
      hint TEXT NOT NULL,
      lease_id TEXT,
      agent TEXT,
      branch TEXT NOT NULL,
      base_commit TEXT,
      pushed_commit TEXT,
      workspace TEXT,
      park_at TEXT,
      turn INTEGER NOT NULL,
      turn_started_at TEXT,
      turn_cut INTEGER NOT NULL,
      pending TEXT,
      cost_usd REAL NOT NULL,
      usage TEXT NOT NULL,
      context_tokens INTEGER,
      context_window INTEGER,
      queued_at TEXT,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL,
      last_seq INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX session_change ON session (change);
    CREATE INDEX session_ticket ON session (ticket_id);
    CREATE INDEX session_project ON session (project_id);
    CREATE INDEX session_state ON session (state);

    CREATE TABLE input (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      input_kind TEXT NOT NULL,
      state TEXT NOT NULL,
      text TEXT NOT NULL,
      author TEXT NOT NULL,
      position REAL NOT NULL,
      delivery TEXT,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX input_change ON input (change);
    CREATE INDEX input_session ON input (session_id, state);
    CREATE INDEX input_state ON input (state);

    CREATE TABLE lease (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      agent TEXT NOT NULL,
      token INTEGER NOT NULL,
      nonce TEXT NOT NULL,
      last_item INTEGER NOT NULL,
      granted_at TEXT NOT NULL,
      ended_at TEXT,
      end_reason TEXT,
      reaped INTEGER NOT NULL,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX lease_change ON lease (change);
    CREATE INDEX lease_session ON lease (session_id);
    CREATE INDEX lease_reaped ON lease (reaped);

    CREATE TABLE deletion (
      number INTEGER PRIMARY KEY,
      change INTEGER NOT NULL,
      table_name TEXT NOT NULL,
      id TEXT NOT NULL
    ) STRICT;
    CREATE INDEX deletion_change ON deletion (change);

    CREATE TABLE timeline (
      key INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES session (number) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      turn INTEGER,
      at INTEGER NOT NULL,
      kind TEXT NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX timeline_turn ON timeline (session, turn);

    CREATE TABLE blob (
      number INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES session (number) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      id TEXT NOT NULL,
      encoding TEXT NOT NULL,
      content BLOB NOT NULL,
      UNIQUE (session, id)
    ) STRICT;

    CREATE TABLE receipt (
      command TEXT PRIMARY KEY,
      at TEXT NOT NULL,
      answer TEXT
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE domain_event (
      number INTEGER PRIMARY KEY,
      change INTEGER NOT NULL,
      at TEXT NOT NULL,
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      data TEXT NOT NULL
    ) STRICT;
    CREATE INDEX domain_event_subject ON domain_event (subject);

    CREATE TABLE outbox (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      effect TEXT NOT NULL,
      data TEXT NOT NULL
    ) STRICT;
  `)
  // Also for rows that go by cascade. What happened to a thing goes with it.
  for (const table of ['project', 'ticket', 'session', 'input', 'lease']) {
    db.exec(`
      CREATE TRIGGER ${table}_deleted AFTER DELETE ON ${table} BEGIN
        INSERT INTO deletion (change, table_name, id) VALUES ((SELECT change FROM meta), '${table}', old.id);
        DELETE FROM domain_event WHERE subject = old.id;
      END;
    `)
  }
}
