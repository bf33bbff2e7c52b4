-- +goose Up

-- The charges of an account: a JSON array of price lists, each with since, a time, markup, in basis points, and
-- prices, by model. An account without one is charged the cost.
ALTER TABLE accounts ADD COLUMN price_lists TEXT NOT NULL DEFAULT '[]';

-- The charge beyond the cost, in nano-USD, and its possible excess if the cost is uncertain; 0 without a price list.
ALTER TABLE rollup_hour ADD COLUMN margin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN margin_uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN margin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN margin_uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN margin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN margin_uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN margin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN margin_uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE explanations ADD COLUMN margin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE explanations ADD COLUMN margin_uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE corrections ADD COLUMN margin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE corrections ADD COLUMN margin_uncertain INTEGER NOT NULL DEFAULT 0;
