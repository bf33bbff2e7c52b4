-- +goose Up

-- One row for each attempt, as attempts has them, in less space. New rows are written here, and those of attempts are
-- moved here in the background, a few at a time. The day comes first, so that a day is one range of the table.
CREATE TABLE attempt_rows (
    kind    INTEGER NOT NULL, -- in attempt_kinds
    day     INTEGER NOT NULL, -- of the request's arrival
    account INTEGER NOT NULL, -- in attempt_accounts
    state   INTEGER NOT NULL, -- 0 open, 1 known, 2 and 3 resolved, 4 and 5 unresolved; 3 and 5: its end was not seen
    id      BLOB    NOT NULL, -- 16 bytes of the request's id; for attempts after the first, its number in 2 bytes
    data    BLOB    NOT NULL, -- everything else: ledger.AppendPacked
    PRIMARY KEY (day, id)
) WITHOUT ROWID;

-- An account's requests, newest first.
CREATE INDEX attempt_rows_account ON attempt_rows (account, day, id);

CREATE INDEX attempt_rows_open ON attempt_rows (day) WHERE state = 0;

CREATE TABLE attempt_accounts (
    number  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account TEXT    NOT NULL UNIQUE
);

-- The texts that many attempts of a day share. They are deleted with the rows of the day.
CREATE TABLE attempt_kinds (
    number    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    day       INTEGER NOT NULL,
    journal   INTEGER NOT NULL,
    key       TEXT    NOT NULL,
    model     TEXT    NOT NULL, -- provider/model
    price     TEXT    NOT NULL, -- version
    own_price TEXT    NOT NULL, -- version of the account's own price
    more      TEXT    NOT NULL, -- JSON object: requested, region, finish, tier, code, status
    UNIQUE (day, journal, key, model, price, own_price, more)
);

-- Programs before this migration do not know the new tables.
UPDATE schema_compatibility SET least = 38;
