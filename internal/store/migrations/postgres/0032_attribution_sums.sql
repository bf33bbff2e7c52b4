-- +goose Up

-- What an account used on a day that is over, by end user and tags, in one row: a report over a year reads as many rows as
-- there are days. What rollup_attribution had is added up again, from the rows of attempts. That table and attribution_days
-- stay empty for nodes of the version before, which may still run.
DELETE FROM rollup_attribution;

CREATE TABLE attribution_sums (
    account  TEXT COLLATE "C" NOT NULL, -- empty for all accounts together, without their keys
    day      BIGINT NOT NULL,
    version  BIGINT NOT NULL, -- another one when attempts of the day were settled
    attempts BIGINT NOT NULL, -- of all sums together
    sums     BYTEA, -- see packSums; NULL while the day is added up
    PRIMARY KEY (account, day)
);

CREATE INDEX attribution_sums_day ON attribution_sums (day);

-- Which days that table has.
CREATE TABLE attributed_days (
    day     BIGINT NOT NULL PRIMARY KEY,
    state   BIGINT NOT NULL, -- 0 not yet, 1 it has all of the day, 2 not any more
    claimed BIGINT NOT NULL  -- until then a node adds the day up
);
