-- +goose Up

-- A link that signs an operator in and changes no password.
ALTER TABLE resets ADD COLUMN sign_in BIGINT NOT NULL DEFAULT 0;
