-- +goose Up

-- The number of unpriced attempts, for the lines of statements.
ALTER TABLE statement_lines ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
