-- +goose Up

-- The percentage of an account's requests whose content is logged, and keys whose content is never logged.
ALTER TABLE accounts ADD COLUMN content_percent BIGINT NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN no_content BIGINT NOT NULL DEFAULT 0;

-- The content log. Requests without content have no row.
CREATE TABLE content (
    account TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    sealed  BYTEA NOT NULL, -- encrypted with the key of the account and the day
    PRIMARY KEY (account, request)
);

CREATE INDEX content_created ON content (created);
CREATE INDEX content_account ON content (account, created, request);

-- The keys that encrypt content.
CREATE TABLE content_keys (
    account TEXT COLLATE "C" NOT NULL,
    day     BIGINT NOT NULL, -- days since 1970
    sealed  TEXT COLLATE "C" NOT NULL, -- encrypted with the master key
    PRIMARY KEY (account, day)
);

-- Sums of the logged content of each account, changed in the transactions of content.
CREATE TABLE content_sums (
    account  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    requests BIGINT NOT NULL,
    bytes    BIGINT NOT NULL
);
