-- +goose Up

-- When an account was closed permanently; NULL while it is open.
ALTER TABLE accounts ADD COLUMN closed BIGINT;
