-- +goose Up

-- Limits of an account, as keys have them; 0 for none. Credit is what was ever
-- paid in beforehand, NULL for an account that does not pay so; it counts from
-- what was spent when the first of it came.
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

-- What was spent by an account or a key on a day, as each journal has it. The
-- number 0 stands for what no journal has: corrections, and the time before
-- this table.
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

-- How much of a budget each journal's node may come to in a period. What all
-- nodes may come to never passes the budget.
CREATE TABLE slices (
    scope   TEXT COLLATE "C" NOT NULL, -- account or key id
    period  BIGINT NOT NULL, -- yyyymmdd, yyyymm, or 0 for all time
    journal BIGINT NOT NULL,
    granted BIGINT NOT NULL, -- nano-USD, with what the node has spent in the period
    wanted  BIGINT NOT NULL, -- when the node last found too little left; 0 for never
    PRIMARY KEY (scope, period, journal)
);

CREATE INDEX slices_wanted ON slices (wanted) WHERE wanted > 0;
CREATE INDEX slices_journal ON slices (journal);

-- The nodes that share this database. A node spends slices only while it is
-- certain that its row says it may.
CREATE TABLE nodes (
    journal BIGINT NOT NULL PRIMARY KEY,
    name    TEXT COLLATE "C" NOT NULL, -- of its host
    address TEXT COLLATE "C" NOT NULL, -- where it listens
    version TEXT COLLATE "C" NOT NULL,
    started BIGINT NOT NULL,
    seen    BIGINT NOT NULL, -- its last heartbeat
    until   BIGINT NOT NULL, -- how long it may go on spending slices
    stopped BIGINT, -- when it said that it stops
    incarnation TEXT COLLATE "C" NOT NULL -- of the database in which it has told what it holds
);

-- What is to be told to whoever asks for it, written with what it tells. An id
-- follows from the event, so that it is there once.
CREATE TABLE events (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    type    TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL, -- account id
    at      BIGINT NOT NULL,
    body    TEXT COLLATE "C" NOT NULL  -- JSON object
);

CREATE INDEX events_at ON events (at);
