-- +goose Up

-- The usage of an account on a day, by end user and tags, in one row: a report over a year reads as many rows as
-- days. The data of rollup_attribution is added up again from the rows of attempts. That table and attribution_days
-- stay empty for nodes of the previous version, which may still run.
DELETE FROM rollup_attribution;

CREATE TABLE attribution_sums (
    account  TEXT COLLATE "C" NOT NULL, -- empty for the sums over all accounts, without keys
    day      BIGINT NOT NULL,
    version  BIGINT NOT NULL, -- changes when attempts of the day are settled
    upto     TEXT COLLATE "C" NOT NULL, -- requests with a lower id are included
    attempts BIGINT NOT NULL, -- of all sums together
    sums     BYTEA, -- see packSums; NULL if nothing is added up yet
    PRIMARY KEY (account, day)
);

CREATE INDEX attribution_sums_day ON attribution_sums (day);

-- The days of that table.
CREATE TABLE attributed_days (
    day     BIGINT NOT NULL PRIMARY KEY,
    state   BIGINT NOT NULL, -- 0 incomplete, 1 complete, 2 deleted
    upto    TEXT COLLATE "C" NOT NULL, -- requests with a lower id are added up, or are about to be
    claimed BIGINT NOT NULL  -- until this time a node adds the day up
);
