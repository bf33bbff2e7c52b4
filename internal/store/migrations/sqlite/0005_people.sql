-- +goose Up

-- Users are people who sign in. proven means that the user has proven the address, or that an operator vouched for
-- it.
CREATE TABLE users (
    id       TEXT    NOT NULL PRIMARY KEY,
    email    TEXT    NOT NULL UNIQUE, -- lower case
    name     TEXT    NOT NULL,
    operator INTEGER NOT NULL,
    password TEXT    NOT NULL, -- PHC string, '' for none
    proven   INTEGER NOT NULL,
    created  INTEGER NOT NULL,
    seen     INTEGER           -- when a session was last used
) WITHOUT ROWID;

-- The ids of users at OpenID Connect providers.
CREATE TABLE identities (
    issuer  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    who     TEXT    NOT NULL REFERENCES users (id),
    created INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, who)
) WITHOUT ROWID;

CREATE TABLE members (
    account TEXT    NOT NULL REFERENCES accounts (id),
    who     TEXT    NOT NULL REFERENCES users (id),
    role    TEXT    NOT NULL, -- owner, member, viewer
    since   INTEGER NOT NULL,
    PRIMARY KEY (account, who)
) WITHOUT ROWID;

CREATE INDEX members_who ON members (who);

CREATE TABLE sessions (
    id      TEXT    NOT NULL PRIMARY KEY,
    hash    TEXT    NOT NULL UNIQUE, -- SHA-256 of the token, hexadecimal
    who     TEXT    NOT NULL REFERENCES users (id),
    method  TEXT    NOT NULL,
    address TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    created INTEGER NOT NULL,
    seen    INTEGER NOT NULL,
    expires INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX sessions_who ON sessions (who);
CREATE INDEX sessions_expires ON sessions (expires);

CREATE TABLE invitations (
    id       TEXT    NOT NULL PRIMARY KEY,
    hash     TEXT    NOT NULL UNIQUE, -- SHA-256 of the token, hexadecimal
    email    TEXT    NOT NULL,
    account  TEXT    NOT NULL, -- id; '' for an operator's
    role     TEXT    NOT NULL,
    operator INTEGER NOT NULL,
    inviter  TEXT    NOT NULL, -- the inviting person, for display
    trusted  INTEGER NOT NULL, -- by an operator
    created  INTEGER NOT NULL,
    expires  INTEGER NOT NULL,
    used     INTEGER
) WITHOUT ROWID;

CREATE INDEX invitations_email ON invitations (email);
CREATE INDEX invitations_account ON invitations (account, created);

-- Links for a new password.
CREATE TABLE resets (
    hash    TEXT    NOT NULL PRIMARY KEY, -- SHA-256 of the token, hexadecimal
    who     TEXT    NOT NULL REFERENCES users (id),
    mailed  INTEGER NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX resets_who ON resets (who);

-- Attempts to sign in, counted by hashes of their common properties.
CREATE TABLE throttles (
    scope    TEXT    NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    until    INTEGER NOT NULL, -- no attempt is allowed before
    at       INTEGER NOT NULL, -- of the last failure
    known    INTEGER NOT NULL  -- of the last success, 0 for none
) WITHOUT ROWID;

CREATE INDEX throttles_at ON throttles (at);
