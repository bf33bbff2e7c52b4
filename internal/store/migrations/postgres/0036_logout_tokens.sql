-- +goose Up

-- Logout tokens that ended sessions, until they expire: each counts once, whichever node it comes to.
CREATE TABLE logout_tokens (
    issuer TEXT COLLATE "C" NOT NULL,
    token  TEXT COLLATE "C" NOT NULL, -- the provider's id of it
    until  BIGINT NOT NULL,
    PRIMARY KEY (issuer, token)
);

CREATE INDEX logout_tokens_until ON logout_tokens (until);
