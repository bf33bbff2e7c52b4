-- +goose Up

-- Limits of an account, like those of keys; 0 for none. credit is the sum of all payments in advance, NULL for an
-- account without them; it applies to spending since the first payment.
ALTER TABLE accounts ADD COLUMN rpm BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN tpm BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN concurrency BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN credit BIGINT;
ALTER TABLE accounts ADD COLUMN credit_from BIGINT NOT NULL DEFAULT 0;

-- Each payment into an account's credit, and each correction of one.
CREATE TABLE credits (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    amount  BIGINT NOT NULL,
    who     TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL
);

CREATE INDEX credits_account ON credits (account, at);

-- The running request: a node that got no answer to its insertion recognizes its record by this.
ALTER TABLE idempotency ADD COLUMN request TEXT COLLATE "C" NOT NULL DEFAULT '';

-- The spending of an account or a key on a day, by journal. The number 0 stands for spending of no journal:
-- corrections, and the time before this table.
CREATE TABLE balances (
    scope   TEXT COLLATE "C" NOT NULL, -- account or key id
    day     BIGINT NOT NULL,
    journal BIGINT NOT NULL,
    spent   BIGINT NOT NULL,
    PRIMARY KEY (scope, day, journal)
);

CREATE INDEX balances_day ON balances (day);

INSERT INTO balances (scope, day, journal, spent)
    SELECT account, period, 0, sum(cost) FROM rollup_day GROUP BY account, period HAVING sum(cost) <> 0
    UNION ALL SELECT key, period, 0, sum(cost) FROM rollup_day GROUP BY key, period HAVING sum(cost) <> 0;

-- Sums of days without keys, for reports of usage: a quarter of the rows or less.
CREATE TABLE rollup_uses (
    period             BIGINT NOT NULL,
    account            TEXT COLLATE "C" NOT NULL,
    model              TEXT COLLATE "C" NOT NULL, -- provider/model
    requests           BIGINT NOT NULL DEFAULT 0,
    cost               BIGINT NOT NULL DEFAULT 0,
    tokens             BIGINT NOT NULL DEFAULT 0, -- of all classes
    attempts           BIGINT NOT NULL DEFAULT 0,
    errors             BIGINT NOT NULL DEFAULT 0, -- refused, rejected, failed, cut
    unpriced           BIGINT NOT NULL DEFAULT 0,
    estimated          BIGINT NOT NULL DEFAULT 0,
    unknown            BIGINT NOT NULL DEFAULT 0,
    use_input          BIGINT NOT NULL DEFAULT 0,
    use_cache_read     BIGINT NOT NULL DEFAULT 0,
    use_cache_write    BIGINT NOT NULL DEFAULT 0,
    use_cache_write_1h BIGINT NOT NULL DEFAULT 0,
    use_audio_in       BIGINT NOT NULL DEFAULT 0,
    use_image_in       BIGINT NOT NULL DEFAULT 0,
    use_output         BIGINT NOT NULL DEFAULT 0,
    use_reasoning      BIGINT NOT NULL DEFAULT 0,
    use_audio_out      BIGINT NOT NULL DEFAULT 0,
    use_request        BIGINT NOT NULL DEFAULT 0,
    use_search         BIGINT NOT NULL DEFAULT 0,
    use_image          BIGINT NOT NULL DEFAULT 0,
    use_character      BIGINT NOT NULL DEFAULT 0,
    use_millisecond    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

-- Reports of a year of an account's usage read only this index, where vacuum has run: in the table, each of its rows
-- is on another page.
CREATE INDEX rollup_uses_account ON rollup_uses (account, period, model) INCLUDE (tokens, requests, cost);

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
    scope   TEXT COLLATE "C" NOT NULL, -- account or key id
    period  BIGINT NOT NULL, -- yyyymmdd, yyyymm, or 0 for all time
    journal BIGINT NOT NULL,
    granted BIGINT NOT NULL, -- nano-USD, including the node's spending in the period
    wanted  BIGINT NOT NULL, -- when the node last found too little left; 0 for never
    PRIMARY KEY (scope, period, journal)
);

CREATE INDEX slices_wanted ON slices (wanted) WHERE wanted > 0;
CREATE INDEX slices_journal ON slices (journal);

-- The nodes that share this database. A node spends slices only while it is certain that its row allows it.
CREATE TABLE nodes (
    journal BIGINT NOT NULL PRIMARY KEY,
    name    TEXT COLLATE "C" NOT NULL, -- of its host
    address TEXT COLLATE "C" NOT NULL, -- where it listens
    version TEXT COLLATE "C" NOT NULL,
    started BIGINT NOT NULL,
    seen    BIGINT NOT NULL, -- its last heartbeat
    until   BIGINT NOT NULL, -- end of its right to spend slices
    stopped BIGINT, -- when it reported that it stops
    incarnation TEXT COLLATE "C" NOT NULL -- of the database to which it has reported its leases
);

-- Events for webhooks, written in the transaction of the change. The id of an event is derived from it, so that it
-- exists once.
CREATE TABLE events (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    type    TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL, -- account id
    at      BIGINT NOT NULL,
    body    TEXT COLLATE "C" NOT NULL  -- JSON object
);

CREATE INDEX events_at ON events (at);
