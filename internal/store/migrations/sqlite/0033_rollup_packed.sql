-- +goose Up

-- The usage of all accounts in a past day or month, in one row: a report over all accounts and a year reads twelve.
CREATE TABLE rollup_packed (
    period     INTEGER NOT NULL PRIMARY KEY, -- yyyymmdd or yyyymm
    version    INTEGER NOT NULL, -- of a day: changes with additions and packing; 0 for a month: the sum of its days'
    packed     INTEGER NOT NULL, -- version at the last packing; the row is outdated if it differs
    by_model   BLOB, -- see packSums; NULL if there are too many sums
    by_key     BLOB, -- by account and key
    by_both    BLOB  -- by account, key and model
);
