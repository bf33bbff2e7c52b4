-- +goose Up

-- The limits of each end user of an account or a key, and of each value of a tag: a JSON array.
ALTER TABLE accounts ADD COLUMN per TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE keys ADD COLUMN per TEXT COLLATE "C" NOT NULL DEFAULT '[]';

-- The parts of both that the corrected attempt counts against in budgets: a JSON array of scopes.
ALTER TABLE corrections ADD COLUMN parts TEXT COLLATE "C" NOT NULL DEFAULT '[]';

-- The charges of deleted rows to parts of accounts and keys, by the part's scope, without corrections.
CREATE TABLE part_checkpoints (
    scope TEXT COLLATE "C" NOT NULL,
    day   BIGINT NOT NULL,
    spent BIGINT NOT NULL,
    PRIMARY KEY (scope, day)
);

CREATE INDEX part_checkpoints_day ON part_checkpoints (day);
