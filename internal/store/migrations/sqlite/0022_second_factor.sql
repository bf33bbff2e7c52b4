-- +goose Up

-- Since when a user may not sign in; null for one who may.
ALTER TABLE users ADD COLUMN disabled INTEGER;

-- The secret of a user's authenticator app, sealed, '' for none; and the last time step whose code was taken.
ALTER TABLE users ADD COLUMN totp TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN totp_step INTEGER NOT NULL DEFAULT 0;

-- What stands in for the app once each.
CREATE TABLE recovery_codes (
    who  TEXT NOT NULL REFERENCES users (id),
    hash TEXT NOT NULL, -- SHA-256 of the code, hexadecimal
    PRIMARY KEY (who, hash)
) WITHOUT ROWID;

-- Whether the second factor is still to be given: until then the session is nobody's.
ALTER TABLE sessions ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
