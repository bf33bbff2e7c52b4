-- +goose Up

-- The former token of a key, valid until a time: its SHA-256, and its last four characters.
ALTER TABLE keys ADD COLUMN former TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN former_last4 TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN former_until BIGINT;

CREATE INDEX keys_former ON keys (former) WHERE former <> '';
