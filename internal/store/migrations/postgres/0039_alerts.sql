-- +goose Up

-- Alerts that fired. At most one of a source is active.
CREATE TABLE alerts (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind    TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL, -- empty for the installation
    subject TEXT COLLATE "C" NOT NULL, -- id of a key, or name of a model; empty for neither
    value   BIGINT NOT NULL, -- when it fired
    bound   BIGINT NOT NULL,
    text    TEXT COLLATE "C" NOT NULL,
    fired   BIGINT NOT NULL,
    ended   BIGINT -- null while it is active
);

CREATE UNIQUE INDEX alerts_active ON alerts (kind, account, subject) WHERE ended IS NULL;

CREATE INDEX alerts_fired ON alerts (fired);

-- One row: until when one node evaluates alerts.
CREATE TABLE alert_turn (
    id    BIGINT NOT NULL PRIMARY KEY,
    until BIGINT NOT NULL
);

ALTER TABLE webhooks ADD COLUMN format TEXT COLLATE "C" NOT NULL DEFAULT 'json';
