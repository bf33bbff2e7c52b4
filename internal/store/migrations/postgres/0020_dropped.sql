-- +goose Up

-- The number of events that were dropped for an endpoint because too many were pending.
ALTER TABLE webhooks ADD COLUMN dropped BIGINT NOT NULL DEFAULT 0;
