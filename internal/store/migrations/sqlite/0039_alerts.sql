-- +goose Up

-- Alerts that fired. At most one of a source is active.
CREATE TABLE alerts (
    id      TEXT NOT NULL PRIMARY KEY,
    kind    TEXT NOT NULL,
    account TEXT NOT NULL, -- empty for the installation
    subject TEXT NOT NULL, -- id of a key, or name of a model; empty for neither
    value   INTEGER NOT NULL, -- when it fired
    bound   INTEGER NOT NULL,
    text    TEXT NOT NULL,
    fired   INTEGER NOT NULL,
    ended   INTEGER -- null while it is active
);

CREATE UNIQUE INDEX alerts_active ON alerts (kind, account, subject) WHERE ended IS NULL;

CREATE INDEX alerts_fired ON alerts (fired);

-- One row: until when one node evaluates alerts.
CREATE TABLE alert_turn (
    id    INTEGER NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL
);

ALTER TABLE webhooks ADD COLUMN format TEXT NOT NULL DEFAULT 'json';
