-- +goose Up

-- The charges of an account: a JSON array of price lists, each with since, a time, markup, in basis points, and
-- prices, by model. An account without one is charged the cost.
ALTER TABLE accounts ADD COLUMN price_lists TEXT COLLATE "C" NOT NULL DEFAULT '[]';

-- The charge beyond the cost, in nano-USD, and its possible excess if the cost is uncertain; 0 without a price list.
ALTER TABLE rollup_hour ADD COLUMN margin BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN margin_uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN margin BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN margin_uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN margin BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN margin_uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN margin BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN margin_uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE explanations ADD COLUMN margin BIGINT NOT NULL DEFAULT 0;
ALTER TABLE explanations ADD COLUMN margin_uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE corrections ADD COLUMN margin BIGINT NOT NULL DEFAULT 0;
ALTER TABLE corrections ADD COLUMN margin_uncertain BIGINT NOT NULL DEFAULT 0;

-- Usage is added up from this index.
DROP INDEX rollup_uses_account;
CREATE INDEX rollup_uses_account ON rollup_uses (account, period, model)
    INCLUDE (tokens, requests, cost, uncertain, margin, margin_uncertain);
