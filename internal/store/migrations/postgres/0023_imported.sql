-- +goose Up

-- The origin of objects imported from another gateway; empty for others. For an account it is the SHA-256 of its
-- identity there, for a key that of its token there, even after a rotation here.
ALTER TABLE accounts ADD COLUMN imported TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN imported TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE UNIQUE INDEX accounts_imported ON accounts (imported) WHERE imported <> '';
CREATE UNIQUE INDEX keys_imported ON keys (imported) WHERE imported <> '';

-- The earlier spending of a budget at another gateway, in the period of the import. It is part of the balances of the
-- scope, on the first day of the period, and is not usage.
CREATE TABLE openings (
    scope  TEXT COLLATE "C" NOT NULL, -- id of the account or key
    period BIGINT NOT NULL, -- number of the budget's period
    amount BIGINT NOT NULL,
    PRIMARY KEY (scope, period)
);
