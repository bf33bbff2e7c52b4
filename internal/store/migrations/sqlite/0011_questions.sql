-- +goose Up

-- Questions to providers about replies with an unseen end. A row is deleted when it is answered or has expired.
CREATE TABLE questions (
    attempt  TEXT NOT NULL PRIMARY KEY, -- <request id>.<number>
    provider TEXT NOT NULL,
    reply    TEXT NOT NULL, -- the provider's id of the reply
    asked    INTEGER NOT NULL DEFAULT 0, -- how often
    due      INTEGER, -- next time, in microseconds; null for never again
    until    INTEGER NOT NULL -- when it is deleted
) WITHOUT ROWID;
CREATE INDEX questions_due ON questions (due) WHERE due IS NOT NULL;
