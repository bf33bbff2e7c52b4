-- +goose Up

-- The sums of attempts with an unseen end or an uncertain charge: reports over all accounts look for the few there are.
CREATE INDEX rollup_uses_unseen ON rollup_uses (period) WHERE uncertain > 0 OR margin_uncertain > 0 OR unknown > 0;

-- The refused requests of all accounts on a past day.
CREATE TABLE refusals_days (
    day     INTEGER NOT NULL PRIMARY KEY, -- its start, in Unix seconds
    version INTEGER NOT NULL, -- changes with additions to the day after its end
    packed  INTEGER NOT NULL, -- version at the last packing; the row is outdated if it differs
    by_pair BLOB, -- by account and reason, see packRefusals; NULL if there are too many counts
    by_all  BLOB  -- by account, key, model, reason and hour
);
