-- +goose Up

-- What an account used on a day, by end user and tags, in one row: a report over a year reads as many rows as
-- there are days. What rollup_attribution had is added up again, from the rows of attempts. That table and attribution_days
-- stay empty for nodes of the version before, which may still run.
DELETE FROM rollup_attribution;

CREATE TABLE attribution_sums (
    account  TEXT COLLATE "C" NOT NULL, -- empty for all accounts together, without their keys
    day      BIGINT NOT NULL,
    version  BIGINT NOT NULL, -- another one when attempts of the day were settled
    upto     TEXT COLLATE "C" NOT NULL, -- the requests before it are in it, by their ids
    attempts BIGINT NOT NULL, -- of all sums together
    sums     BYTEA, -- see packSums; NULL where nothing is added up yet
    PRIMARY KEY (account, day)
);

CREATE INDEX attribution_sums_day ON attribution_sums (day);

-- Which days that table has.
CREATE TABLE attributed_days (
    day     BIGINT NOT NULL PRIMARY KEY,
    state   BIGINT NOT NULL, -- 0 not yet, 1 it has all of the day, 2 not any more
    upto    TEXT COLLATE "C" NOT NULL, -- the requests before it are added up, or are about to be
    claimed BIGINT NOT NULL  -- until then a node does so
);
