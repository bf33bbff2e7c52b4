-- +goose Up

-- The percentage of an account's requests whose content is logged, and keys whose content is never logged.
ALTER TABLE accounts ADD COLUMN content_percent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN no_content INTEGER NOT NULL DEFAULT 0;

-- The content log. Requests without content have no row.
CREATE TABLE content (
    account TEXT NOT NULL,
    request TEXT NOT NULL,
    key     TEXT NOT NULL,
    created INTEGER NOT NULL,
    sealed  BLOB NOT NULL, -- encrypted with the key of the account and the day
    PRIMARY KEY (account, request)
);

CREATE INDEX content_created ON content (created);
CREATE INDEX content_account ON content (account, created, request);

-- The keys that encrypt content.
CREATE TABLE content_keys (
    account TEXT NOT NULL,
    day     INTEGER NOT NULL, -- days since 1970
    sealed  TEXT NOT NULL, -- encrypted with the master key
    PRIMARY KEY (account, day)
) WITHOUT ROWID;

-- Sums of the logged content of each account, changed in the transactions of content.
CREATE TABLE content_sums (
    account  TEXT NOT NULL PRIMARY KEY,
    requests INTEGER NOT NULL,
    bytes    INTEGER NOT NULL
) WITHOUT ROWID;
