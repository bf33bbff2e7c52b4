-- +goose Up

-- Attempts of which something has no price in what the account is charged, less those whose cost has none: 0 where both are
-- the same, as in all that is from before.
ALTER TABLE rollup_hour ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE explanations ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;

-- What a correction adds to both: it decides what usage without a price came to. Those from before decided nothing.
ALTER TABLE corrections ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE corrections ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
