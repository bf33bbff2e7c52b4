-- +goose Up

-- What all accounts used in a day or a month that is over, in one row: a report of all accounts over a year reads twelve.
CREATE TABLE rollup_packed (
    period     INTEGER NOT NULL PRIMARY KEY, -- yyyymmdd or yyyymm
    version    INTEGER NOT NULL, -- of a day: another one when something was added to it, or it was packed; 0 of a month, whose version is the sum of its days'
    packed     INTEGER NOT NULL, -- the version that is packed; another one where it has to be packed again
    by_model   BLOB, -- see packSums; NULL where there are too many sums
    by_key     BLOB, -- likewise, by account and key
    by_both    BLOB  -- likewise, by account, key and model
);
