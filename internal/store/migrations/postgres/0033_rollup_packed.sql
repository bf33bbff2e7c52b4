-- +goose Up

-- What all accounts used in a day or a month that is over, in one row: a report of all accounts over a year reads twelve.
CREATE TABLE rollup_packed (
    period     BIGINT NOT NULL PRIMARY KEY, -- yyyymmdd or yyyymm
    version    BIGINT NOT NULL, -- another one when something was added to a day of it
    by_model   BYTEA, -- see packSums; NULL where it has to be added up
    by_key     BYTEA, -- likewise, by account and key
    by_both    BYTEA  -- likewise, by account, key and model
);
