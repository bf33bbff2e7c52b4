-- +goose Up

-- Answers of the answer cache.
CREATE TABLE answers (
    scope   TEXT NOT NULL, -- id of an account; empty for answers that accounts share
    key     TEXT NOT NULL, -- hash of the request
    account TEXT NOT NULL, -- id of the account that paid for it
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    size    INTEGER NOT NULL, -- bytes of sealed
    sealed  TEXT NOT NULL, -- encrypted with the master key
    PRIMARY KEY (scope, key)
);

CREATE INDEX answers_expires ON answers (expires);
CREATE INDEX answers_account ON answers (account, created);
CREATE INDEX answers_created ON answers (created);

-- Sums of the stored answers of each account, changed in the transactions of answers.
CREATE TABLE answer_sums (
    account TEXT NOT NULL PRIMARY KEY,
    answers INTEGER NOT NULL,
    bytes   INTEGER NOT NULL
) WITHOUT ROWID;

-- Requests that were answered from the cache, and what their answers cost the first time.
ALTER TABLE rollup_hour ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE explanations ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE explanations ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;

-- How long answers to the requests of a key are stored, in seconds; 0 for not at all.
ALTER TABLE keys ADD COLUMN answer_cache INTEGER NOT NULL DEFAULT 0;
