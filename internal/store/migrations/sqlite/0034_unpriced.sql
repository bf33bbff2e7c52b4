-- +goose Up

-- Attempts of which something has no price: the lines of statements tell of them.
ALTER TABLE statement_lines ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
