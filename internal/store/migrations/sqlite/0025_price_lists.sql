-- +goose Up

-- What an account is charged: a JSON array of price lists, each with since, a time, markup, in basis points, and prices,
-- by model. An account that has none is charged what it costs.
ALTER TABLE accounts ADD COLUMN price_lists TEXT NOT NULL DEFAULT '[]';

-- What is charged beyond the cost, in nano-USD, and what that may come to beyond it where the cost is not known; 0
-- without a price list.
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
