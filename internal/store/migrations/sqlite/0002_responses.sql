-- +goose Up

-- Stored responses of POST /v1/responses. Ids are hashes of the scope and the id.
CREATE TABLE responses (
    id       TEXT    NOT NULL PRIMARY KEY,
    scope    TEXT    NOT NULL, -- API key id
    previous TEXT    NOT NULL, -- the previous response, even if it does not exist; '' for none
    created  INTEGER NOT NULL,
    expires  INTEGER NOT NULL,
    sealed   BLOB    NOT NULL  -- encrypted: the input and the answer
);

CREATE INDEX responses_expires ON responses (expires);

-- The items that a response is found by.
CREATE TABLE response_items (
    item     TEXT NOT NULL, -- hash of the scope and the id
    response TEXT NOT NULL REFERENCES responses (id) ON DELETE CASCADE,
    PRIMARY KEY (item, response)
) WITHOUT ROWID;

CREATE INDEX response_items_response ON response_items (response);
