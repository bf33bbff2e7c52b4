-- +goose Up

-- What was taken over from another gateway; empty for what was made here. Of an account it is the SHA-256 of what tells
-- it from others there, of a key that of the token that it had there, whatever token it has now.
ALTER TABLE accounts ADD COLUMN imported TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN imported TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE UNIQUE INDEX accounts_imported ON accounts (imported) WHERE imported <> '';
CREATE UNIQUE INDEX keys_imported ON keys (imported) WHERE imported <> '';

-- What was spent of a budget at another gateway, in the period in which it was taken over. It is in the balances of
-- the scope, on the first day of the period, and is no usage.
CREATE TABLE openings (
    scope  TEXT COLLATE "C" NOT NULL, -- id of the account or key
    period BIGINT NOT NULL, -- number of the budget's period
    amount BIGINT NOT NULL,
    PRIMARY KEY (scope, period)
);
