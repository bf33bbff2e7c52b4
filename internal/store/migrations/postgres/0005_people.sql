-- +goose Up

-- Users are people who sign in. proven means that the user has proven the address, or that an operator vouched for
-- it.
CREATE TABLE users (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    email    TEXT COLLATE "C" NOT NULL UNIQUE, -- lower case
    name     TEXT COLLATE "C" NOT NULL,
    operator BIGINT NOT NULL,
    password TEXT COLLATE "C" NOT NULL, -- PHC string, '' for none
    proven   BIGINT NOT NULL,
    created  BIGINT NOT NULL,
    seen     BIGINT           -- when a session was last used
);

-- The ids of users at OpenID Connect providers.
CREATE TABLE identities (
    issuer  TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    who     TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    created BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, who)
);

CREATE TABLE members (
    account TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    who     TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    role    TEXT COLLATE "C" NOT NULL, -- owner, member, viewer
    since   BIGINT NOT NULL,
    PRIMARY KEY (account, who)
);

CREATE INDEX members_who ON members (who);

CREATE TABLE sessions (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash    TEXT COLLATE "C" NOT NULL UNIQUE, -- SHA-256 of the token, hexadecimal
    who     TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    method  TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    agent   TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    seen    BIGINT NOT NULL,
    expires BIGINT NOT NULL
);

CREATE INDEX sessions_who ON sessions (who);
CREATE INDEX sessions_expires ON sessions (expires);

CREATE TABLE invitations (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash     TEXT COLLATE "C" NOT NULL UNIQUE, -- SHA-256 of the token, hexadecimal
    email    TEXT COLLATE "C" NOT NULL,
    account  TEXT COLLATE "C" NOT NULL, -- id; '' for an operator's
    role     TEXT COLLATE "C" NOT NULL,
    operator BIGINT NOT NULL,
    inviter  TEXT COLLATE "C" NOT NULL, -- the inviting person, for display
    trusted  BIGINT NOT NULL, -- by an operator
    created  BIGINT NOT NULL,
    expires  BIGINT NOT NULL,
    used     BIGINT
);

CREATE INDEX invitations_email ON invitations (email);
CREATE INDEX invitations_account ON invitations (account, created);

-- Links for a new password.
CREATE TABLE resets (
    hash    TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- SHA-256 of the token, hexadecimal
    who     TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    mailed  BIGINT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL
);

CREATE INDEX resets_who ON resets (who);

-- Attempts to sign in, counted by hashes of their common properties.
CREATE TABLE throttles (
    scope    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    failures BIGINT NOT NULL,
    until    BIGINT NOT NULL, -- no attempt is allowed before
    at       BIGINT NOT NULL, -- of the last failure
    known    BIGINT NOT NULL  -- of the last success, 0 for none
);

CREATE INDEX throttles_at ON throttles (at);
