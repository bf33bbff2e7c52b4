-- +goose Up

-- Addresses that are told of events.
CREATE TABLE webhooks (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account       TEXT COLLATE "C" NOT NULL, -- account id; '' for the installation's
    url           TEXT COLLATE "C" NOT NULL,
    types         TEXT COLLATE "C" NOT NULL, -- JSON list; [] for all
    allow_private BIGINT NOT NULL,
    secret        TEXT COLLATE "C" NOT NULL, -- sealed
    former        TEXT COLLATE "C" NOT NULL, -- the secret before it, sealed; '' for none
    former_until  BIGINT NOT NULL, -- it signs too until then
    failing       BIGINT,          -- since when every try has failed
    rests         BIGINT NOT NULL, -- nothing is sent before that
    disabled      BIGINT,
    why           TEXT COLLATE "C" NOT NULL, -- it is disabled
    created       BIGINT NOT NULL
);

CREATE INDEX webhooks_account ON webhooks (account);

-- Each event on its way to each endpoint, written with the event. One may outlive its
-- endpoint for a moment: whoever tells of something must not fail because of that.
CREATE TABLE deliveries (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    webhook TEXT COLLATE "C" NOT NULL,
    event   TEXT COLLATE "C" NOT NULL REFERENCES events (id),
    state   TEXT COLLATE "C" NOT NULL, -- pending, delivered or failed
    begun   BIGINT NOT NULL, -- when it was due first, in this round of tries
    due     BIGINT,          -- when anybody may take it; NULL where it has ended
    takes   BIGINT NOT NULL, -- how often somebody did
    failed  BIGINT NOT NULL, -- tries that failed, in this round
    ended   BIGINT
);

CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_webhook ON deliveries (webhook, id);
CREATE INDEX deliveries_event ON deliveries (event);
CREATE INDEX deliveries_ended ON deliveries (ended) WHERE ended IS NOT NULL;

-- Requests to endpoints, and what came back.
CREATE TABLE tries (
    delivery TEXT COLLATE "C" NOT NULL,
    n        BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    took     BIGINT NOT NULL, -- microseconds
    status   BIGINT NOT NULL, -- 0 for no answer
    error    TEXT COLLATE "C" NOT NULL,
    answer   TEXT COLLATE "C" NOT NULL, -- how its body began
    PRIMARY KEY (delivery, n)
);

-- What is told once until a time comes, and was.
CREATE TABLE told (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    until BIGINT NOT NULL
);

INSERT INTO told (name, until) SELECT id, 9223372036854775807 FROM events;

-- The name of the key that secrets in this database are sealed with.
CREATE TABLE master_key (
    id   BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    name TEXT COLLATE "C" NOT NULL
);

CREATE INDEX keys_expires ON keys (expires) WHERE expires IS NOT NULL;

-- What an account's endpoints were not sent is looked for there.
CREATE INDEX events_account ON events (account, at, id);
