-- +goose Up

-- Logout tokens that ended sessions, until they expire: each is accepted once by all nodes together.
CREATE TABLE logout_tokens (
    issuer TEXT COLLATE "C" NOT NULL,
    token  TEXT COLLATE "C" NOT NULL, -- the provider's id of the token
    until  BIGINT NOT NULL,
    PRIMARY KEY (issuer, token)
);

CREATE INDEX logout_tokens_until ON logout_tokens (until);
