-- +goose Up

-- Endpoints that receive events.
CREATE TABLE webhooks (
    id            TEXT    NOT NULL PRIMARY KEY,
    account       TEXT    NOT NULL, -- account id; '' for the installation's
    url           TEXT    NOT NULL,
    types         TEXT    NOT NULL, -- JSON list; [] for all
    allow_private INTEGER NOT NULL,
    secret        TEXT    NOT NULL, -- encrypted
    former        TEXT    NOT NULL, -- the former secret, encrypted; '' for none
    former_until  INTEGER NOT NULL, -- end of the former secret's validity
    failing       INTEGER,          -- start of the current series of failures
    rests         INTEGER NOT NULL, -- nothing is sent before this time
    disabled      INTEGER,
    why           TEXT    NOT NULL, -- reason of disabled
    created       INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX webhooks_account ON webhooks (account);

-- The deliveries of events to endpoints, written with the event. One may exist shortly after its endpoint is deleted,
-- because writing an event must not fail for that.
CREATE TABLE deliveries (
    id      TEXT    NOT NULL PRIMARY KEY,
    webhook TEXT    NOT NULL,
    event   TEXT    NOT NULL REFERENCES events (id),
    state   TEXT    NOT NULL, -- pending, delivered or failed
    begun   INTEGER NOT NULL, -- first due time of the current series of attempts
    due     INTEGER,          -- when a node may take it; NULL if it has ended
    takes   INTEGER NOT NULL, -- how often a node took it
    failed  INTEGER NOT NULL, -- failed attempts of the current series
    ended   INTEGER
) WITHOUT ROWID;

CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_webhook ON deliveries (webhook, id);
CREATE INDEX deliveries_event ON deliveries (event);
CREATE INDEX deliveries_ended ON deliveries (ended) WHERE ended IS NOT NULL;

-- Requests to endpoints, with their answers.
CREATE TABLE tries (
    delivery TEXT    NOT NULL,
    n        INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    took     INTEGER NOT NULL, -- microseconds
    status   INTEGER NOT NULL, -- 0 for no answer
    error    TEXT    NOT NULL,
    answer   TEXT    NOT NULL, -- start of its body
    PRIMARY KEY (delivery, n)
) WITHOUT ROWID;

-- Events that are written only once until a time.
CREATE TABLE told (
    name  TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO told (name, until) SELECT id, 9223372036854775807 FROM events;

-- The name of the master key that encrypts the secrets in this database.
CREATE TABLE master_key (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    name TEXT    NOT NULL
);

CREATE INDEX keys_expires ON keys (expires) WHERE expires IS NOT NULL;

-- For the search of events that an account's endpoints have not received.
CREATE INDEX events_account ON events (account, at, id);
