-- +goose Up

-- Since when a user may not sign in; null for one who may.
ALTER TABLE users ADD COLUMN disabled BIGINT;

-- The secret of a user's authenticator app, sealed, '' for none; and the last time step whose code was taken.
ALTER TABLE users ADD COLUMN totp TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN totp_step BIGINT NOT NULL DEFAULT 0;

-- What stands in for the app once each.
CREATE TABLE recovery_codes (
    who  TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    hash TEXT COLLATE "C" NOT NULL, -- SHA-256 of the code, hexadecimal
    PRIMARY KEY (who, hash)
);

-- Whether the second factor is still to be given: until then the session is nobody's.
ALTER TABLE sessions ADD COLUMN pending BIGINT NOT NULL DEFAULT 0;
