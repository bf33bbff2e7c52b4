-- +goose Up

-- The number of refused requests, which have no rows in attempts.
CREATE TABLE refusals (
    account TEXT NOT NULL, -- empty if the request was not authenticated
    minute  INTEGER NOT NULL, -- its start, in Unix seconds; of old rows, the start of the hour
    key     TEXT NOT NULL,
    reason  TEXT NOT NULL, -- error code
    model   TEXT NOT NULL, -- as requested; empty if unknown
    n       INTEGER NOT NULL,
    PRIMARY KEY (account, minute, key, reason, model)
) WITHOUT ROWID;

CREATE INDEX refusals_minute ON refusals (minute);

-- The latest refused requests of each account.
CREATE TABLE refusals_latest (
    account TEXT NOT NULL,
    request TEXT NOT NULL,
    at      INTEGER NOT NULL,
    key     TEXT NOT NULL,
    reason  TEXT NOT NULL,
    status  INTEGER NOT NULL, -- of HTTP
    model   TEXT NOT NULL,
    message TEXT NOT NULL, -- without content of the request
    PRIMARY KEY (account, request)
) WITHOUT ROWID;

CREATE INDEX refusals_latest_request ON refusals_latest (request);
