-- +goose Up

-- What is uncertain is added up with the other sums of usage, by the index alone.
DROP INDEX rollup_uses_account;
CREATE INDEX rollup_uses_account ON rollup_uses (account, period, model) INCLUDE (tokens, requests, cost, uncertain);
