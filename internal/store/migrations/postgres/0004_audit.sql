-- +goose Up

-- The audit log, written in the transaction of each change. Each row's hash covers the row and the hash of the
-- previous row.
CREATE TABLE audit (
    seq         BIGINT NOT NULL PRIMARY KEY,
    at          BIGINT NOT NULL,
    actor_kind  TEXT COLLATE "C" NOT NULL,
    actor_id    TEXT COLLATE "C" NOT NULL,
    actor_name  TEXT COLLATE "C" NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    request     TEXT COLLATE "C" NOT NULL,
    action      TEXT COLLATE "C" NOT NULL,
    object_kind TEXT COLLATE "C" NOT NULL,
    object_id   TEXT COLLATE "C" NOT NULL,
    object_name TEXT COLLATE "C" NOT NULL,
    account     TEXT COLLATE "C" NOT NULL, -- account id, '' for none
    was         TEXT COLLATE "C", -- JSON object, or NULL
    became      TEXT COLLATE "C", -- JSON object, or NULL
    hash        TEXT COLLATE "C" NOT NULL  -- SHA-256, hexadecimal
);

CREATE INDEX audit_account ON audit (account, seq);
CREATE INDEX audit_object ON audit (object_id, seq);

-- The user who made a key.
ALTER TABLE keys ADD COLUMN creator TEXT COLLATE "C" NOT NULL DEFAULT ''; -- user id, '' for none
