-- +goose Up

-- Passkeys of users, which replace the code of their authenticator app.
CREATE TABLE passkeys (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- of the credential, base64url
    who        TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name       TEXT COLLATE "C" NOT NULL,
    credential TEXT COLLATE "C" NOT NULL, -- JSON: the public key and its signature counter
    created    BIGINT NOT NULL,
    used       BIGINT -- null for never
);

CREATE INDEX passkeys_who ON passkeys (who);
