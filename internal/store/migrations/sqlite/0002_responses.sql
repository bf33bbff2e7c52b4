-- +goose Up

-- What POST /v1/responses keeps. Ids are hashes of the scope and the id.
CREATE TABLE responses (
    id       TEXT    NOT NULL PRIMARY KEY,
    scope    TEXT    NOT NULL, -- API key id
    previous TEXT    NOT NULL, -- the response that it goes on from, whether that is there or not; '' for none
    created  INTEGER NOT NULL,
    expires  INTEGER NOT NULL,
    sealed   BLOB    NOT NULL  -- encrypted: what was asked, what was answered
);

CREATE INDEX responses_expires ON responses (expires);

-- By which items a response is found.
CREATE TABLE response_items (
    item     TEXT NOT NULL, -- hash of the scope and the id
    response TEXT NOT NULL REFERENCES responses (id) ON DELETE CASCADE,
    PRIMARY KEY (item, response)
) WITHOUT ROWID;

CREATE INDEX response_items_response ON response_items (response);
