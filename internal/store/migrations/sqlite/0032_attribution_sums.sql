-- +goose Up

-- What an account used on a day, by end user and tags, in one row: a report over a year reads as many rows as
-- there are days. What rollup_attribution had is added up again, from the rows of attempts. That table and attribution_days
-- stay empty for nodes of the version before, which may still run.
DELETE FROM rollup_attribution;

CREATE TABLE attribution_sums (
    account  TEXT NOT NULL, -- empty for all accounts together, without their keys
    day      INTEGER NOT NULL,
    version  INTEGER NOT NULL, -- another one when attempts of the day were settled
    upto     TEXT NOT NULL, -- the requests before it are in it, by their ids
    attempts INTEGER NOT NULL, -- of all sums together
    sums     BLOB, -- see packSums; NULL where nothing is added up yet
    PRIMARY KEY (account, day)
);

CREATE INDEX attribution_sums_day ON attribution_sums (day);

-- Which days that table has.
CREATE TABLE attributed_days (
    day     INTEGER NOT NULL PRIMARY KEY,
    state   INTEGER NOT NULL, -- 0 not yet, 1 it has all of the day, 2 not any more
    upto    TEXT NOT NULL, -- the requests before it are added up, or are about to be
    claimed INTEGER NOT NULL  -- until then a node does so
) WITHOUT ROWID;
