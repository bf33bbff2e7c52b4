-- +goose Up

-- What an account used on a day that is over, by end user and tags, in one row: a report over a year reads as many rows as
-- there are days. What rollup_attribution had is added up again, from the rows of attempts. That table and attribution_days
-- stay empty for nodes of the version before, which may still run.
DELETE FROM rollup_attribution;

CREATE TABLE attribution_sums (
    account  TEXT NOT NULL, -- empty for all accounts together, without their keys
    day      INTEGER NOT NULL,
    version  INTEGER NOT NULL, -- another one when attempts of the day were settled
    attempts INTEGER NOT NULL, -- of all sums together
    sums     BLOB, -- see packSums; NULL while the day is added up
    PRIMARY KEY (account, day)
);

CREATE INDEX attribution_sums_day ON attribution_sums (day);

-- Which days that table has.
CREATE TABLE attributed_days (
    day     INTEGER NOT NULL PRIMARY KEY,
    state   INTEGER NOT NULL, -- 0 not yet, 1 it has all of the day, 2 not any more
    claimed INTEGER NOT NULL  -- until then a node adds the day up
) WITHOUT ROWID;
