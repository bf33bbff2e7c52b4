-- +goose Up

-- Addresses that are told of events.
CREATE TABLE webhooks (
    id            TEXT    NOT NULL PRIMARY KEY,
    account       TEXT    NOT NULL, -- account id; '' for the installation's
    url           TEXT    NOT NULL,
    types         TEXT    NOT NULL, -- JSON list; [] for all
    allow_private INTEGER NOT NULL,
    secret        TEXT    NOT NULL, -- sealed
    former        TEXT    NOT NULL, -- the secret before it, sealed; '' for none
    former_until  INTEGER NOT NULL, -- it signs too until then
    failing       INTEGER,          -- since when every try has failed
    rests         INTEGER NOT NULL, -- nothing is sent before that
    disabled      INTEGER,
    why           TEXT    NOT NULL, -- it is disabled
    created       INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX webhooks_account ON webhooks (account);

-- Each event on its way to each endpoint, written with the event. One may outlive its
-- endpoint for a moment: whoever tells of something must not fail because of that.
CREATE TABLE deliveries (
    id      TEXT    NOT NULL PRIMARY KEY,
    webhook TEXT    NOT NULL,
    event   TEXT    NOT NULL REFERENCES events (id),
    state   TEXT    NOT NULL, -- pending, delivered or failed
    begun   INTEGER NOT NULL, -- when it was due first, in this round of tries
    due     INTEGER,          -- when anybody may take it; NULL where it has ended
    takes   INTEGER NOT NULL, -- how often somebody did
    failed  INTEGER NOT NULL, -- tries that failed, in this round
    ended   INTEGER
) WITHOUT ROWID;

CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_webhook ON deliveries (webhook, id);
CREATE INDEX deliveries_event ON deliveries (event);
CREATE INDEX deliveries_ended ON deliveries (ended) WHERE ended IS NOT NULL;

-- Requests to endpoints, and what came back.
CREATE TABLE tries (
    delivery TEXT    NOT NULL,
    n        INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    took     INTEGER NOT NULL, -- microseconds
    status   INTEGER NOT NULL, -- 0 for no answer
    error    TEXT    NOT NULL,
    answer   TEXT    NOT NULL, -- how its body began
    PRIMARY KEY (delivery, n)
) WITHOUT ROWID;

-- What is told once until a time comes, and was.
CREATE TABLE told (
    name  TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO told (name, until) SELECT id, 9223372036854775807 FROM events;

-- The name of the key that secrets in this database are sealed with.
CREATE TABLE master_key (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    name TEXT    NOT NULL
);

CREATE INDEX keys_expires ON keys (expires) WHERE expires IS NOT NULL;

-- What an account's endpoints were not sent is looked for there.
CREATE INDEX events_account ON events (account, at, id);
