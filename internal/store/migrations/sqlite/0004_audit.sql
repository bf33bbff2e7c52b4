-- +goose Up

-- The audit log, written in the transaction of each change. Each row's hash covers the row and the hash of the
-- previous row.
CREATE TABLE audit (
    seq         INTEGER NOT NULL PRIMARY KEY,
    at          INTEGER NOT NULL,
    actor_kind  TEXT    NOT NULL,
    actor_id    TEXT    NOT NULL,
    actor_name  TEXT    NOT NULL,
    address     TEXT    NOT NULL,
    request     TEXT    NOT NULL,
    action      TEXT    NOT NULL,
    object_kind TEXT    NOT NULL,
    object_id   TEXT    NOT NULL,
    object_name TEXT    NOT NULL,
    account     TEXT    NOT NULL, -- account id, '' for none
    was         TEXT,            -- JSON object, or NULL
    became      TEXT,            -- JSON object, or NULL
    hash        TEXT    NOT NULL  -- SHA-256, hexadecimal
) WITHOUT ROWID;

CREATE INDEX audit_account ON audit (account, seq);
CREATE INDEX audit_object ON audit (object_id, seq);

-- The user who made a key.
ALTER TABLE keys ADD COLUMN creator TEXT NOT NULL DEFAULT ''; -- user id, '' for none
