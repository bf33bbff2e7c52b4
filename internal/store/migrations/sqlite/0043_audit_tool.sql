-- +goose Up

-- The MCP tool of the administration that a model called; empty for none.
ALTER TABLE audit ADD COLUMN tool TEXT NOT NULL DEFAULT '';
