-- +goose Up

-- When an account was closed, for good; NULL while it is open.
ALTER TABLE accounts ADD COLUMN closed INTEGER;
