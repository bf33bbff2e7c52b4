-- +goose Up

-- Uncertain amounts are added up with the other sums of usage from this index.
DROP INDEX rollup_uses_account;
CREATE INDEX rollup_uses_account ON rollup_uses (account, period, model) INCLUDE (tokens, requests, cost, uncertain);
