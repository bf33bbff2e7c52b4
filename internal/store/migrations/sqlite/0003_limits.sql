-- +goose Up

-- Limits of an account, like those of keys; 0 for none. credit is the sum of all payments in advance, NULL for an
-- account without them; it applies to spending since the first payment.
ALTER TABLE accounts ADD COLUMN rpm INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN tpm INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN concurrency INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN credit INTEGER;
ALTER TABLE accounts ADD COLUMN credit_from INTEGER NOT NULL DEFAULT 0;

-- Each payment into an account's credit, and each correction of one.
CREATE TABLE credits (
    id      TEXT    NOT NULL PRIMARY KEY,
    account TEXT    NOT NULL REFERENCES accounts (id),
    amount  INTEGER NOT NULL,
    who     TEXT    NOT NULL,
    at      INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX credits_account ON credits (account, at);

-- The running request: a node that got no answer to its insertion recognizes its record by this.
ALTER TABLE idempotency ADD COLUMN request TEXT NOT NULL DEFAULT '';

-- The spending of an account or a key on a day, by journal. The number 0 stands for spending of no journal:
-- corrections, and the time before this table.
CREATE TABLE balances (
    scope   TEXT    NOT NULL, -- account or key id
    day     INTEGER NOT NULL,
    journal INTEGER NOT NULL,
    spent   INTEGER NOT NULL,
    PRIMARY KEY (scope, day, journal)
) WITHOUT ROWID;

CREATE INDEX balances_day ON balances (day);

INSERT INTO balances (scope, day, journal, spent)
    SELECT account, period, 0, sum(cost) FROM rollup_day GROUP BY account, period HAVING sum(cost) <> 0
    UNION ALL SELECT key, period, 0, sum(cost) FROM rollup_day GROUP BY key, period HAVING sum(cost) <> 0;

-- Sums of days without keys, for reports of usage: a quarter of the rows or less.
CREATE TABLE rollup_uses (
    period             INTEGER NOT NULL,
    account            TEXT    NOT NULL,
    model              TEXT    NOT NULL, -- provider/model
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
    PRIMARY KEY (period, account, model)
) WITHOUT ROWID;

INSERT INTO rollup_uses (period, account, model,
        requests, cost, tokens, attempts, errors, unpriced, estimated, unknown, use_input, use_cache_read,
        use_cache_write, use_cache_write_1h, use_audio_in, use_image_in, use_output, use_reasoning, use_audio_out,
        use_request, use_search, use_image, use_character, use_millisecond)
    SELECT period, account, model,
        sum(requests), sum(cost), sum(tokens), sum(attempts), sum(errors), sum(unpriced), sum(estimated),
        sum(unknown), sum(use_input), sum(use_cache_read), sum(use_cache_write), sum(use_cache_write_1h),
        sum(use_audio_in), sum(use_image_in), sum(use_output), sum(use_reasoning), sum(use_audio_out),
        sum(use_request), sum(use_search), sum(use_image), sum(use_character), sum(use_millisecond)
    FROM rollup_day GROUP BY period, account, model;

-- How much each journal's node may spend of a budget in a period. The sum over all nodes never exceeds the budget.
CREATE TABLE slices (
    scope   TEXT    NOT NULL, -- account or key id
    period  INTEGER NOT NULL, -- yyyymmdd, yyyymm, or 0 for all time
    journal INTEGER NOT NULL,
    granted INTEGER NOT NULL, -- nano-USD, including the node's spending in the period
    wanted  INTEGER NOT NULL, -- when the node last found too little left; 0 for never
    PRIMARY KEY (scope, period, journal)
) WITHOUT ROWID;

CREATE INDEX slices_wanted ON slices (wanted) WHERE wanted > 0;
CREATE INDEX slices_journal ON slices (journal);

-- The nodes that share this database. A node spends slices only while it is certain that its row allows it.
CREATE TABLE nodes (
    journal INTEGER NOT NULL PRIMARY KEY,
    name    TEXT    NOT NULL, -- of its host
    address TEXT    NOT NULL, -- where it listens
    version TEXT    NOT NULL,
    started INTEGER NOT NULL,
    seen    INTEGER NOT NULL, -- its last heartbeat
    until   INTEGER NOT NULL, -- end of its right to spend slices
    stopped INTEGER,          -- when it reported that it stops
    incarnation TEXT NOT NULL -- of the database to which it has reported its leases
) WITHOUT ROWID;

-- Events for webhooks, written in the transaction of the change. The id of an event is derived from it, so that it
-- exists once.
CREATE TABLE events (
    id      TEXT    NOT NULL PRIMARY KEY,
    type    TEXT    NOT NULL,
    account TEXT    NOT NULL, -- account id
    at      INTEGER NOT NULL,
    body    TEXT    NOT NULL  -- JSON object
) WITHOUT ROWID;

CREATE INDEX events_at ON events (at);
