-- +goose Up

-- What POST /v1/responses keeps. Ids are hashes of the scope and the id.
CREATE TABLE responses (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    scope    TEXT COLLATE "C" NOT NULL, -- API key id
    previous TEXT COLLATE "C" NOT NULL, -- the response that it goes on from, whether that is there or not; '' for none
    created  BIGINT NOT NULL,
    expires  BIGINT NOT NULL,
    sealed   BYTEA NOT NULL  -- encrypted: what was asked, what was answered
);

CREATE INDEX responses_expires ON responses (expires);

-- By which items a response is found.
CREATE TABLE response_items (
    item     TEXT COLLATE "C" NOT NULL, -- hash of the scope and the id
    response TEXT COLLATE "C" NOT NULL REFERENCES responses (id) ON DELETE CASCADE,
    PRIMARY KEY (item, response)
);

CREATE INDEX response_items_response ON response_items (response);
