"""The schema of a store: numbered migrations for both SQLite and PostgreSQL. docs/store.md explains each column."""

from secrets import token_hex

from bot.core.immutable import immutable

INBOX_TABLES = """
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store_id TEXT,
        taken INTEGER NOT NULL DEFAULT 0,
        stale INTEGER NOT NULL DEFAULT 0,
        stale_at TEXT
    );
    INSERT INTO meta (id) VALUES (1);
    CREATE TABLE log (
        seq INTEGER PRIMARY KEY,
        delivery TEXT UNIQUE,
        event_id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        contact TEXT,
        received_at TEXT NOT NULL,
        body BLOB NOT NULL,
        readable INTEGER NOT NULL,
        erased_at TEXT,
        message TEXT UNIQUE
    );
"""
ENGINE_TABLES = """
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store_id TEXT,
        signal_key TEXT,
        cursor INTEGER NOT NULL DEFAULT 0,
        last_event TEXT,
        written_at TEXT,
        set_back INTEGER NOT NULL DEFAULT 0,
        clean INTEGER NOT NULL DEFAULT 1,
        run INTEGER NOT NULL DEFAULT 0,
        taking TEXT,
        last_send INTEGER NOT NULL DEFAULT 0,
        last_call INTEGER NOT NULL DEFAULT 0,
        last_turn INTEGER NOT NULL DEFAULT 0,
        listed_at TEXT
    );
    INSERT INTO meta (id) VALUES (1);
    CREATE TABLE crashes (
        run INTEGER NOT NULL,
        work TEXT NOT NULL,
        PRIMARY KEY (run, work)
    ) WITHOUT ROWID;
    CREATE TABLE sessions (
        contact TEXT PRIMARY KEY,
        flow TEXT,
        step TEXT,
        visit INTEGER NOT NULL,
        wake_at TEXT,
        last_inbound TEXT,
        conversation TEXT,
        opted_out INTEGER NOT NULL DEFAULT 0,
        handed_over_at TEXT,
        updated_at TEXT NOT NULL,
        state TEXT NOT NULL
    );
    CREATE INDEX sessions_by_wake_at ON sessions (wake_at) WHERE wake_at IS NOT NULL;
    CREATE INDEX sessions_by_conversation ON sessions (conversation) WHERE conversation IS NOT NULL;
    CREATE INDEX sessions_handed_over ON sessions (handed_over_at) WHERE handed_over_at IS NOT NULL;
    CREATE TABLE parked (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        contact TEXT NOT NULL,
        event TEXT NOT NULL,
        parked_at TEXT NOT NULL
    );
    CREATE INDEX parked_by_contact ON parked (contact, id);
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        ref TEXT NOT NULL,
        key TEXT NOT NULL,
        contact TEXT NOT NULL,
        effect TEXT NOT NULL,
        priority INTEGER NOT NULL DEFAULT 0,
        channel TEXT,
        created_at TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        due_at TEXT,
        expires_at TEXT,
        unclear INTEGER NOT NULL DEFAULT 0,
        repeated INTEGER NOT NULL DEFAULT 0,
        claimed_at TEXT,
        outcome TEXT,
        at TEXT,
        message_ids TEXT,
        detail TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX messages_in_outbox ON messages (id) WHERE outcome IS NULL;
    CREATE INDEX messages_replaced ON messages (contact, at) WHERE outcome = 'replaced';
    CREATE VIEW outbox AS
        SELECT id, ref, key, contact, effect, priority, channel, created_at, attempts, due_at, expires_at, unclear, repeated,
            claimed_at, detail
        FROM messages INDEXED BY messages_in_outbox WHERE outcome IS NULL;
    CREATE VIEW sent AS
        SELECT id, ref, key, contact, effect, priority, created_at, attempts, outcome, at, message_ids, detail
        FROM messages WHERE outcome IS NOT NULL;
    CREATE TABLE message_ids (
        message_id TEXT PRIMARY KEY,
        sent_id INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE statuses (
        id INTEGER PRIMARY KEY,
        message_id TEXT NOT NULL UNIQUE,
        contact TEXT,
        status TEXT NOT NULL CHECK (status IN ('queued', 'sent', 'failed', 'delivered', 'read')),
        at TEXT NOT NULL,
        detail TEXT NOT NULL
    );
    CREATE INDEX statuses_failed ON statuses (message_id) WHERE status = 'failed';
    CREATE TRIGGER message_forgotten AFTER DELETE ON messages WHEN old.message_ids IS NOT NULL BEGIN
        DELETE FROM statuses WHERE message_id IN (SELECT value FROM json_each(old.message_ids));
        DELETE FROM message_ids WHERE message_id IN (SELECT value FROM json_each(old.message_ids));
    END;
    CREATE TABLE aliases (
        alias TEXT PRIMARY KEY,
        contact TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE listed_contacts (
        contact TEXT PRIMARY KEY,
        state TEXT
    ) WITHOUT ROWID;
    CREATE INDEX listed_contacts_wanted ON listed_contacts (contact) WHERE state IS NULL;
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        ref TEXT NOT NULL,
        key TEXT NOT NULL,
        contact TEXT NOT NULL,
        effect TEXT NOT NULL,
        created_at TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        due_at TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '',
        said INTEGER NOT NULL DEFAULT 0,
        claimed_at TEXT
    );
    CREATE TABLE events_out (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        ref TEXT NOT NULL,
        key TEXT NOT NULL,
        contact TEXT NOT NULL,
        effect TEXT NOT NULL,
        created_at TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        due_at TEXT,
        detail TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX events_out_due ON events_out (due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX events_out_by_contact ON events_out (contact, id);
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        contact TEXT,
        event_id TEXT NOT NULL,
        event TEXT NOT NULL,
        rule TEXT NOT NULL,
        steps TEXT NOT NULL,
        effects TEXT NOT NULL,
        notes TEXT NOT NULL,
        problems TEXT NOT NULL,
        micros INTEGER NOT NULL,
        session TEXT,
        wake_at TEXT
    );
    CREATE INDEX turns_by_contact ON turns (contact);
    CREATE INDEX turns_judged ON turns (at) WHERE rule = 'judged: no';
    CREATE TABLE dead_letters (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        what TEXT NOT NULL CHECK (what IN ('event', 'send', 'turn', 'event_out')),
        contact TEXT,
        reason TEXT NOT NULL,
        body TEXT NOT NULL,
        at TEXT NOT NULL,
        send_id INTEGER
    );
    CREATE INDEX dead_letters_by_contact ON dead_letters (contact);
    CREATE INDEX dead_letters_by_send ON dead_letters (send_id) WHERE send_id IS NOT NULL;
    CREATE TABLE broadcasts (
        name TEXT PRIMARY KEY,
        template TEXT,
        flow TEXT CHECK ((flow IS NULL) <> (template IS NULL)),
        state TEXT NOT NULL CHECK (state IN ('scheduled', 'trying', 'running', 'paused', 'stopped', 'editing', 'finished')),
        edit INTEGER NOT NULL,
        code TEXT NOT NULL,
        recent TEXT NOT NULL,
        canary INTEGER,
        at TEXT NOT NULL DEFAULT '',
        late INTEGER NOT NULL DEFAULT 0,
        resumed_at TEXT,
        begins_at TEXT,
        ended_at TEXT,
        created_at TEXT NOT NULL,
        started_by TEXT NOT NULL
    );
    CREATE INDEX broadcasts_live ON broadcasts (name) WHERE state IN ('scheduled', 'trying', 'running');
    CREATE INDEX broadcasts_running ON broadcasts (name) WHERE state = 'running';
    CREATE INDEX broadcasts_trying ON broadcasts (name) WHERE state = 'trying';
    CREATE TABLE recipients (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        broadcast TEXT NOT NULL,
        contact TEXT NOT NULL,
        body TEXT NOT NULL,
        added_at TEXT NOT NULL,
        edit INTEGER NOT NULL,
        began TEXT NOT NULL DEFAULT '',
        send_id INTEGER UNIQUE,
        outcome TEXT,
        code TEXT NOT NULL DEFAULT '',
        retries INTEGER NOT NULL DEFAULT 0,
        again TEXT,
        due_at TEXT,
        UNIQUE (broadcast, contact)
    );
    CREATE INDEX recipients_waiting ON recipients (broadcast, due_at, retries, id) WHERE send_id IS NULL AND outcome IS NULL;
    CREATE INDEX recipients_in_outbox ON recipients (id) WHERE send_id IS NOT NULL AND outcome IS NULL;
    CREATE INDEX recipients_failed ON recipients (broadcast) WHERE outcome = 'failed';
    CREATE INDEX recipients_missed ON recipients (broadcast) WHERE outcome = 'missed';
    CREATE INDEX recipients_open ON recipients (contact) WHERE outcome IS NULL;
    CREATE TABLE usage (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        contact TEXT NOT NULL,
        flow TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL,
        estimated INTEGER NOT NULL
    );
    CREATE INDEX usage_by_at ON usage (at);
    CREATE INDEX usage_by_contact ON usage (contact, at);
    CREATE TABLE results (
        day TEXT NOT NULL,
        flow TEXT NOT NULL,
        step TEXT NOT NULL,
        split TEXT NOT NULL,
        way TEXT NOT NULL CHECK (way IN ('entered', 'answered', 'timed out', 'left', 'failed', 'judged')),
        outcome TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (day, flow, step, split, way, outcome)
    ) WITHOUT ROWID;
    CREATE TABLE versions (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        published_by TEXT NOT NULL,
        note TEXT NOT NULL,
        digest TEXT,
        content BLOB
    );
    CREATE TABLE erasures (
        contact TEXT PRIMARY KEY,
        upto INTEGER NOT NULL,
        asked_at TEXT NOT NULL
    ) WITHOUT ROWID;
"""


@immutable
class Migration:
    """A change of the schema: the statements for the engine's and the inbox's part of a store, in SQLite's dialect, one
    a line.

    In PostgreSQL, programs of earlier versions run meanwhile. ``oldest`` is the earliest version whose programs can go
    on after it. A migration that only adds (a table, an index, a column that may be empty or has a default) keeps
    ``oldest``. A migration that removes something raises it, one release after the last that used this
    (docs/scaling.md, "Upgrading").
    """

    about: str
    engine: str = ""
    inbox: str = ""
    oldest: int = 1


MIGRATIONS = (Migration("schema", ENGINE_TABLES, INBOX_TABLES),)
"""All migrations, in order. The version of a store is how many of them it has had."""


def schema_version() -> int:
    """The version that this program gives a store."""
    return len(MIGRATIONS)


def new_signal_key() -> str:
    """A key for a new store, which seals the addresses of signals."""
    return token_hex(32)


def oldest_version() -> int:
    """The earliest version whose programs can use a store of this program's version."""
    return max(migration.oldest for migration in MIGRATIONS)
