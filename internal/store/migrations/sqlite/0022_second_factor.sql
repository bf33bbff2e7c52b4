-- +goose Up

-- When a user was disabled; null for an enabled one.
ALTER TABLE users ADD COLUMN disabled INTEGER;

-- The encrypted secret of a user's authenticator app, '' for none, and the last time step with an accepted code.
ALTER TABLE users ADD COLUMN totp TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN totp_step INTEGER NOT NULL DEFAULT 0;

-- Recovery codes, each of which replaces the app once.
CREATE TABLE recovery_codes (
    who  TEXT NOT NULL REFERENCES users (id),
    hash TEXT NOT NULL, -- SHA-256 of the code, hexadecimal
    PRIMARY KEY (who, hash)
) WITHOUT ROWID;

-- Whether the second factor is missing: until then the session has no rights.
ALTER TABLE sessions ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
