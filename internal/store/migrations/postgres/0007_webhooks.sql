-- +goose Up

-- Endpoints that receive events.
CREATE TABLE webhooks (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account       TEXT COLLATE "C" NOT NULL, -- account id; '' for the installation's
    url           TEXT COLLATE "C" NOT NULL,
    types         TEXT COLLATE "C" NOT NULL, -- JSON list; [] for all
    allow_private BIGINT NOT NULL,
    secret        TEXT COLLATE "C" NOT NULL, -- encrypted
    former        TEXT COLLATE "C" NOT NULL, -- the former secret, encrypted; '' for none
    former_until  BIGINT NOT NULL, -- end of the former secret's validity
    failing       BIGINT,          -- start of the current series of failures
    rests         BIGINT NOT NULL, -- nothing is sent before this time
    disabled      BIGINT,
    why           TEXT COLLATE "C" NOT NULL, -- reason of disabled
    created       BIGINT NOT NULL
);

CREATE INDEX webhooks_account ON webhooks (account);

-- The deliveries of events to endpoints, written with the event. One may exist shortly after its endpoint is deleted,
-- because writing an event must not fail for that.
CREATE TABLE deliveries (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    webhook TEXT COLLATE "C" NOT NULL,
    event   TEXT COLLATE "C" NOT NULL REFERENCES events (id),
    state   TEXT COLLATE "C" NOT NULL, -- pending, delivered or failed
    begun   BIGINT NOT NULL, -- first due time of the current series of attempts
    due     BIGINT,          -- when a node may take it; NULL if it has ended
    takes   BIGINT NOT NULL, -- how often a node took it
    failed  BIGINT NOT NULL, -- failed attempts of the current series
    ended   BIGINT
);

CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_webhook ON deliveries (webhook, id);
CREATE INDEX deliveries_event ON deliveries (event);
CREATE INDEX deliveries_ended ON deliveries (ended) WHERE ended IS NOT NULL;

-- Requests to endpoints, with their answers.
CREATE TABLE tries (
    delivery TEXT COLLATE "C" NOT NULL,
    n        BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    took     BIGINT NOT NULL, -- microseconds
    status   BIGINT NOT NULL, -- 0 for no answer
    error    TEXT COLLATE "C" NOT NULL,
    answer   TEXT COLLATE "C" NOT NULL, -- start of its body
    PRIMARY KEY (delivery, n)
);

-- Events that are written only once until a time.
CREATE TABLE told (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    until BIGINT NOT NULL
);

INSERT INTO told (name, until) SELECT id, 9223372036854775807 FROM events;

-- The name of the master key that encrypts the secrets in this database.
CREATE TABLE master_key (
    id   BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    name TEXT COLLATE "C" NOT NULL
);

CREATE INDEX keys_expires ON keys (expires) WHERE expires IS NOT NULL;

-- For the search of events that an account's endpoints have not received.
CREATE INDEX events_account ON events (account, at, id);
