-- +goose Up

-- The number of unpriced attempts, for the lines of statements and totals.
ALTER TABLE statement_lines ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0;

DROP INDEX rollup_uses_account;
CREATE INDEX rollup_uses_account ON rollup_uses (account, period, model)
    INCLUDE (tokens, requests, cost, uncertain, margin, margin_uncertain, unpriced);
