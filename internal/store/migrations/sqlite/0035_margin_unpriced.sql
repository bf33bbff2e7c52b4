-- +goose Up

-- The number of attempts with an unpriced charge minus that with an unpriced cost: 0 if both are equal, as in all
-- older rows.
ALTER TABLE rollup_hour ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE explanations ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;

-- The changes of both numbers by a correction, which decides the cost of usage without a price. Older corrections did
-- not.
ALTER TABLE corrections ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE corrections ADD COLUMN margin_unpriced INTEGER NOT NULL DEFAULT 0;
