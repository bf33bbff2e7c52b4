-- +goose Up

-- Corrections by an amount: an attempt can have several, each with its reason. The
-- table is made anew for its primary key.
CREATE TEMP TABLE old_corrections AS SELECT * FROM corrections;
DROP TABLE corrections;
CREATE TABLE corrections (
    day       INTEGER NOT NULL, -- of the attempt
    request   TEXT    NOT NULL,
    n         INTEGER NOT NULL,
    kind      TEXT    NOT NULL, -- resolved: what it cost in the end; amount: what is added to that
    seq       INTEGER NOT NULL, -- among those of its kind, from 1
    hour      INTEGER NOT NULL, -- of the attempt
    account   TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    provider  TEXT    NOT NULL,
    model     TEXT    NOT NULL, -- provider/model
    usage     TEXT    NOT NULL, -- what it adds; may be negative
    cost      INTEGER NOT NULL, -- what it adds; may be negative
    unknown   INTEGER NOT NULL, -- what it adds to the number of unknown attempts
    uncertain INTEGER NOT NULL DEFAULT 0, -- what it adds; not positive
    reason    TEXT    NOT NULL,
    who       TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (day, request, n, kind, seq)
) WITHOUT ROWID;
INSERT INTO corrections (day, request, n, kind, seq, hour, account, key, provider, model, usage, cost, unknown, uncertain, reason, who, at)
    SELECT day, request, n, kind, 1, hour, account, key, provider, model, usage, cost, unknown, uncertain, '', who, at FROM old_corrections;
DROP TABLE old_corrections;

-- What an account that does not pay beforehand was given: it owes so much less. Credit
-- that was given, and not paid, is told apart.
ALTER TABLE accounts ADD COLUMN goodwill INTEGER NOT NULL DEFAULT 0;
ALTER TABLE credits ADD COLUMN goodwill INTEGER NOT NULL DEFAULT 0; -- 1 for what was given
