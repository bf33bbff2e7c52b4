-- +goose Up

-- The sums of attempts with an unseen end or an uncertain charge: reports over all accounts look for the few there are.
CREATE INDEX rollup_uses_unseen ON rollup_uses (period) WHERE uncertain > 0 OR margin_uncertain > 0 OR unknown > 0;

-- The refused requests of all accounts on a past day.
CREATE TABLE refusals_days (
    day     BIGINT NOT NULL PRIMARY KEY, -- its start, in Unix seconds
    version BIGINT NOT NULL, -- changes with additions to the day after its end
    packed  BIGINT NOT NULL, -- version at the last packing; the row is outdated if it differs
    by_pair BYTEA, -- by account and reason, see packRefusals; NULL if there are too many counts
    by_all  BYTEA  -- by account, key, model, reason and hour
);
ALTER TABLE refusals_days ALTER COLUMN by_pair SET STORAGE EXTERNAL; -- to decompress them takes longer
ALTER TABLE refusals_days ALTER COLUMN by_all SET STORAGE EXTERNAL;
