-- +goose Up

-- When a user was disabled; null for an enabled one.
ALTER TABLE users ADD COLUMN disabled BIGINT;

-- The encrypted secret of a user's authenticator app, '' for none, and the last time step with an accepted code.
ALTER TABLE users ADD COLUMN totp TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN totp_step BIGINT NOT NULL DEFAULT 0;

-- Recovery codes, each of which replaces the app once.
CREATE TABLE recovery_codes (
    who  TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    hash TEXT COLLATE "C" NOT NULL, -- SHA-256 of the code, hexadecimal
    PRIMARY KEY (who, hash)
);

-- Whether the second factor is missing: until then the session has no rights.
ALTER TABLE sessions ADD COLUMN pending BIGINT NOT NULL DEFAULT 0;
