-- +goose Up

-- How many events an endpoint was not sent because too many waited for it.
ALTER TABLE webhooks ADD COLUMN dropped BIGINT NOT NULL DEFAULT 0;
