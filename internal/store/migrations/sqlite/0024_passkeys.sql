-- +goose Up

-- Passkeys of users, which replace the code of their authenticator app.
CREATE TABLE passkeys (
    id         TEXT NOT NULL PRIMARY KEY, -- of the credential, base64url
    who        TEXT NOT NULL REFERENCES users (id),
    name       TEXT NOT NULL,
    credential TEXT NOT NULL, -- JSON: the public key and its signature counter
    created    INTEGER NOT NULL,
    used       INTEGER -- null for never
) WITHOUT ROWID;

CREATE INDEX passkeys_who ON passkeys (who);
