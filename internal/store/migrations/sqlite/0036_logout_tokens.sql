-- +goose Up

-- Logout tokens that ended sessions, until they expire: each is accepted once by all nodes together.
CREATE TABLE logout_tokens (
    issuer TEXT NOT NULL,
    token  TEXT NOT NULL, -- the provider's id of the token
    until  INTEGER NOT NULL,
    PRIMARY KEY (issuer, token)
) WITHOUT ROWID;

CREATE INDEX logout_tokens_until ON logout_tokens (until);
