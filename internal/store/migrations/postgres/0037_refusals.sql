-- +goose Up

-- The number of refused requests, which have no rows in attempts.
CREATE TABLE refusals (
    account TEXT COLLATE "C" NOT NULL, -- empty if the request was not authenticated
    minute  BIGINT NOT NULL, -- its start, in Unix seconds; of old rows, the start of the hour
    key     TEXT COLLATE "C" NOT NULL,
    reason  TEXT COLLATE "C" NOT NULL, -- error code
    model   TEXT COLLATE "C" NOT NULL, -- as requested; empty if unknown
    n       BIGINT NOT NULL,
    PRIMARY KEY (account, minute, key, reason, model)
);

CREATE INDEX refusals_minute ON refusals (minute);

-- The latest refused requests of each account.
CREATE TABLE refusals_latest (
    account TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    reason  TEXT COLLATE "C" NOT NULL,
    status  BIGINT NOT NULL, -- of HTTP
    model   TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL, -- without content of the request
    PRIMARY KEY (account, request)
);

CREATE INDEX refusals_latest_request ON refusals_latest (request);
