-- Conventions: ids are TEXT, times INTEGER microseconds since 1970 UTC, money
-- INTEGER nano-USD, booleans INTEGER 0 or 1, dates INTEGER yyyymmdd and hours
-- INTEGER yyyymmddhh, both UTC. Usage is JSON text of the classes that are not 0.

-- +goose Up

CREATE TABLE accounts (
    id            TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE,
    suspended     INTEGER NOT NULL,
    on_hangup     TEXT    NOT NULL,
    budget        INTEGER NOT NULL,
    budget_period TEXT    NOT NULL,
    created       INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE keys (
    id            TEXT    NOT NULL PRIMARY KEY,
    account       TEXT    NOT NULL REFERENCES accounts (id),
    hash          TEXT    NOT NULL UNIQUE, -- SHA-256 of the token, hexadecimal
    label         TEXT    NOT NULL,
    last4         TEXT    NOT NULL,
    permissions   TEXT    NOT NULL, -- JSON array of text
    models        TEXT    NOT NULL, -- JSON array of text
    created       INTEGER NOT NULL,
    expires       INTEGER,
    revoked       INTEGER,
    rpm           INTEGER NOT NULL,
    tpm           INTEGER NOT NULL,
    concurrency   INTEGER NOT NULL,
    budget        INTEGER NOT NULL,
    budget_period TEXT    NOT NULL
) WITHOUT ROWID;

CREATE INDEX keys_account ON keys (account, created);

CREATE TABLE setup_tokens (
    hash    TEXT    NOT NULL PRIMARY KEY, -- SHA-256 of the token, hexadecimal
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    used    INTEGER
) WITHOUT ROWID;

-- The feed of changes for the caches of other processes, in the order of commits.
CREATE TABLE changes (
    seq  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT    NOT NULL,
    id   TEXT    NOT NULL,
    at   INTEGER NOT NULL
);

-- How far each journal is applied. Rows of attempts refer to it by its number.
CREATE TABLE journals (
    number   INTEGER NOT NULL PRIMARY KEY,
    journal  TEXT    NOT NULL UNIQUE,
    position INTEGER NOT NULL
);

-- One row. A change of it makes all earlier commits durable.
CREATE TABLE durable (
    id    INTEGER NOT NULL PRIMARY KEY,
    times INTEGER NOT NULL
);

-- A price never changes: its version identifies these rates for ever.
CREATE TABLE prices (
    version TEXT NOT NULL PRIMARY KEY,
    rates   TEXT NOT NULL, -- JSON object by class, pico-USD a token or unit
    tiers   TEXT NOT NULL  -- JSON array of {above, rates}
) WITHOUT ROWID;

-- One row for each attempt. The day comes first, so that a day is one range of the table, for verification, export
-- and deletion. There are no foreign keys, because they would cost more than the insertion. Fields that no query
-- selects by are in two JSON objects, because each column costs an insertion as much as a short text.
CREATE TABLE attempts (
    day        INTEGER NOT NULL, -- of the request's arrival
    request    TEXT    NOT NULL,
    n          INTEGER NOT NULL,
    journal    INTEGER NOT NULL,
    account    TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    model      TEXT    NOT NULL, -- provider/model
    opened     INTEGER NOT NULL,
    opening    TEXT    NOT NULL, -- requested, stream, price, bound, hold, arrived
    outcome    TEXT    NOT NULL, -- 'open' until it is settled; the columns below are valid then
    provenance TEXT    NOT NULL,
    cost       INTEGER NOT NULL,
    settlement TEXT    NOT NULL, -- usage, counts, finish, tier, code, status, first_token, duration
    PRIMARY KEY (day, request, n)
) WITHOUT ROWID;

CREATE INDEX attempts_open ON attempts (journal) WHERE outcome = 'open';

-- Corrections of settled attempts. Rows of attempts remain unchanged.
CREATE TABLE corrections (
    day      INTEGER NOT NULL, -- of the attempt
    request  TEXT    NOT NULL,
    n        INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    hour     INTEGER NOT NULL, -- of the attempt
    account  TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    provider TEXT    NOT NULL,
    model    TEXT    NOT NULL, -- provider/model
    usage    TEXT    NOT NULL, -- added; may be negative
    cost     INTEGER NOT NULL, -- added; may be negative
    unknown  INTEGER NOT NULL, -- added to the number of unknown attempts
    who      TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (day, request, n, kind)
) WITHOUT ROWID;

-- Sums of settled attempts. The period comes first, so that current rows are adjacent and a batch writes few pages.
CREATE TABLE rollup_hour (
    period             INTEGER NOT NULL,
    account            TEXT    NOT NULL,
    model              TEXT    NOT NULL, -- provider/model
    key                TEXT    NOT NULL,
    provider           TEXT    NOT NULL,
    requests           INTEGER NOT NULL DEFAULT 0,
    cost               INTEGER NOT NULL DEFAULT 0,
    tokens             INTEGER NOT NULL DEFAULT 0, -- of all classes
    attempts           INTEGER NOT NULL DEFAULT 0,
    errors             INTEGER NOT NULL DEFAULT 0, -- refused, rejected, failed, cut
    unpriced           INTEGER NOT NULL DEFAULT 0,
    estimated          INTEGER NOT NULL DEFAULT 0,
    unknown            INTEGER NOT NULL DEFAULT 0,
    use_input          INTEGER NOT NULL DEFAULT 0,
    use_cache_read     INTEGER NOT NULL DEFAULT 0,
    use_cache_write    INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h INTEGER NOT NULL DEFAULT 0,
    use_audio_in       INTEGER NOT NULL DEFAULT 0,
    use_image_in       INTEGER NOT NULL DEFAULT 0,
    use_output         INTEGER NOT NULL DEFAULT 0,
    use_reasoning      INTEGER NOT NULL DEFAULT 0,
    use_audio_out      INTEGER NOT NULL DEFAULT 0,
    use_request        INTEGER NOT NULL DEFAULT 0,
    use_search         INTEGER NOT NULL DEFAULT 0,
    use_image          INTEGER NOT NULL DEFAULT 0,
    use_character      INTEGER NOT NULL DEFAULT 0,
    use_millisecond    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, key)
) WITHOUT ROWID;

CREATE TABLE rollup_day (
    period             INTEGER NOT NULL,
    account            TEXT    NOT NULL,
    model              TEXT    NOT NULL, -- provider/model
    key                TEXT    NOT NULL,
    provider           TEXT    NOT NULL,
    requests           INTEGER NOT NULL DEFAULT 0,
    cost               INTEGER NOT NULL DEFAULT 0,
    tokens             INTEGER NOT NULL DEFAULT 0, -- of all classes
    attempts           INTEGER NOT NULL DEFAULT 0,
    errors             INTEGER NOT NULL DEFAULT 0, -- refused, rejected, failed, cut
    unpriced           INTEGER NOT NULL DEFAULT 0,
    estimated          INTEGER NOT NULL DEFAULT 0,
    unknown            INTEGER NOT NULL DEFAULT 0,
    use_input          INTEGER NOT NULL DEFAULT 0,
    use_cache_read     INTEGER NOT NULL DEFAULT 0,
    use_cache_write    INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h INTEGER NOT NULL DEFAULT 0,
    use_audio_in       INTEGER NOT NULL DEFAULT 0,
    use_image_in       INTEGER NOT NULL DEFAULT 0,
    use_output         INTEGER NOT NULL DEFAULT 0,
    use_reasoning      INTEGER NOT NULL DEFAULT 0,
    use_audio_out      INTEGER NOT NULL DEFAULT 0,
    use_request        INTEGER NOT NULL DEFAULT 0,
    use_search         INTEGER NOT NULL DEFAULT 0,
    use_image          INTEGER NOT NULL DEFAULT 0,
    use_character      INTEGER NOT NULL DEFAULT 0,
    use_millisecond    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, key)
) WITHOUT ROWID;

-- Sums of a day's attempts that retention has deleted. verify continues from them.
CREATE TABLE checkpoints (
    period             INTEGER NOT NULL,
    account            TEXT    NOT NULL,
    model              TEXT    NOT NULL, -- provider/model
    key                TEXT    NOT NULL,
    provider           TEXT    NOT NULL,
    requests           INTEGER NOT NULL DEFAULT 0,
    cost               INTEGER NOT NULL DEFAULT 0,
    tokens             INTEGER NOT NULL DEFAULT 0, -- of all classes
    attempts           INTEGER NOT NULL DEFAULT 0,
    errors             INTEGER NOT NULL DEFAULT 0, -- refused, rejected, failed, cut
    unpriced           INTEGER NOT NULL DEFAULT 0,
    estimated          INTEGER NOT NULL DEFAULT 0,
    unknown            INTEGER NOT NULL DEFAULT 0,
    use_input          INTEGER NOT NULL DEFAULT 0,
    use_cache_read     INTEGER NOT NULL DEFAULT 0,
    use_cache_write    INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h INTEGER NOT NULL DEFAULT 0,
    use_audio_in       INTEGER NOT NULL DEFAULT 0,
    use_image_in       INTEGER NOT NULL DEFAULT 0,
    use_output         INTEGER NOT NULL DEFAULT 0,
    use_reasoning      INTEGER NOT NULL DEFAULT 0,
    use_audio_out      INTEGER NOT NULL DEFAULT 0,
    use_request        INTEGER NOT NULL DEFAULT 0,
    use_search         INTEGER NOT NULL DEFAULT 0,
    use_image          INTEGER NOT NULL DEFAULT 0,
    use_character      INTEGER NOT NULL DEFAULT 0,
    use_millisecond    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, key)
) WITHOUT ROWID;

-- Stored replies for the Idempotency-Key header.
CREATE TABLE idempotency (
    scope   TEXT    NOT NULL, -- API key id
    key     TEXT    NOT NULL, -- hash of the header
    body    TEXT    NOT NULL, -- hash of the request's body
    state   TEXT    NOT NULL, -- running, done, done_stream
    node    TEXT    NOT NULL, -- the node that runs it
    epoch   TEXT    NOT NULL, -- the process of the node
    reply   BLOB,             -- encrypted
    expires INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;

CREATE INDEX idempotency_expires ON idempotency (expires);
