-- +goose Up

-- What all accounts used in a day or a month that is over, in one row: a report of all accounts over a year reads twelve.
CREATE TABLE rollup_packed (
    period     INTEGER NOT NULL PRIMARY KEY, -- yyyymmdd or yyyymm
    version    INTEGER NOT NULL, -- another one when something was added to a day of it
    by_model   BLOB, -- see packSums; NULL where it has to be added up
    by_key     BLOB, -- likewise, by account and key
    by_both    BLOB  -- likewise, by account, key and model
);
