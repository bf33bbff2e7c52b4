-- +goose Up

-- Stored responses of POST /v1/responses. Ids are hashes of the scope and the id.
CREATE TABLE responses (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    scope    TEXT COLLATE "C" NOT NULL, -- API key id
    previous TEXT COLLATE "C" NOT NULL, -- the previous response, even if it does not exist; '' for none
    created  BIGINT NOT NULL,
    expires  BIGINT NOT NULL,
    sealed   BYTEA NOT NULL  -- encrypted: the input and the answer
);

CREATE INDEX responses_expires ON responses (expires);

-- The items that a response is found by.
CREATE TABLE response_items (
    item     TEXT COLLATE "C" NOT NULL, -- hash of the scope and the id
    response TEXT COLLATE "C" NOT NULL REFERENCES responses (id) ON DELETE CASCADE,
    PRIMARY KEY (item, response)
);

CREATE INDEX response_items_response ON response_items (response);
