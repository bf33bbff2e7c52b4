-- +goose Up

-- The usage of all accounts in an hour of the last days, like that of days and months in rollup_packed.
CREATE TABLE packed_hours (
    period   INTEGER NOT NULL PRIMARY KEY, -- yyyymmddhh
    version  INTEGER NOT NULL, -- changes with additions to the hour after its end
    packed   INTEGER NOT NULL, -- version at the last packing; the row is outdated if it differs
    by_model BLOB, -- see packSums; NULL if there are too many sums
    by_key   BLOB, -- by account and key
    by_both  BLOB  -- by account, key and model
);

-- Times to first token of all accounts in a past hour, day or month. A table of its own, because SQLite reads all large
-- values before a column.
CREATE TABLE packed_speeds (
    period INTEGER NOT NULL PRIMARY KEY, -- yyyymm, yyyymmdd or yyyymmddhh
    packed INTEGER NOT NULL, -- version in rollup_packed or packed_hours at the last packing
    speeds BLOB -- by account and model, of hours also by key; NULL if there are too many or rows are deleted
);

-- The numbers of refused requests by key, by model, and by account for each reason.
INSERT INTO refusals_sums SELECT 3600, 'key', minute - minute % 3600, key, sum(n) FROM refusals
    GROUP BY minute - minute % 3600, key;
INSERT INTO refusals_sums SELECT 3600, 'model', minute - minute % 3600, model, sum(n) FROM refusals
    GROUP BY minute - minute % 3600, model;
INSERT INTO refusals_sums SELECT 3600, '/' || reason, minute - minute % 3600, account, sum(n) FROM refusals
    GROUP BY minute - minute % 3600, account, reason;
INSERT INTO refusals_sums SELECT 86400, 'key', minute - minute % 86400, key, sum(n) FROM refusals
    GROUP BY minute - minute % 86400, key;
INSERT INTO refusals_sums SELECT 86400, 'model', minute - minute % 86400, model, sum(n) FROM refusals
    GROUP BY minute - minute % 86400, model;
INSERT INTO refusals_sums SELECT 86400, '/' || reason, minute - minute % 86400, account, sum(n) FROM refusals
    GROUP BY minute - minute % 86400, account, reason;
