-- +goose Up

-- What an account used on a day that is over, by end user and tags, in one row: a report over a year reads as many rows as
-- there are days. What the table before had is added up again, from the rows of attempts.
DROP TABLE rollup_attribution;
DROP TABLE attribution_days;

CREATE TABLE attribution_sums (
    account  TEXT NOT NULL,
    day      INTEGER NOT NULL,
    version  INTEGER NOT NULL, -- another one when attempts of the day were settled
    attempts INTEGER NOT NULL, -- of all sums together
    sums     BLOB, -- see packSums; NULL while the day is added up
    PRIMARY KEY (account, day)
);

CREATE INDEX attribution_sums_day ON attribution_sums (day);

-- Which days that table has.
CREATE TABLE attribution_days (
    day     INTEGER NOT NULL PRIMARY KEY,
    state   INTEGER NOT NULL, -- 0 not yet, 1 it has all of the day, 2 not any more
    claimed INTEGER NOT NULL  -- until then a node adds the day up
) WITHOUT ROWID;
