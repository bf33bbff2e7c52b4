-- +goose Up

-- What a provider is asked about a reply whose end nobody saw. A row goes when it is
-- answered, or when its time is over.
CREATE TABLE questions (
    attempt  TEXT NOT NULL PRIMARY KEY, -- <request id>.<number>
    provider TEXT NOT NULL,
    reply    TEXT NOT NULL, -- the provider's id of it
    asked    INTEGER NOT NULL DEFAULT 0, -- how often
    due      INTEGER, -- when it is asked, in microseconds; null for never again
    until    INTEGER NOT NULL -- when it is forgotten
) WITHOUT ROWID;
CREATE INDEX questions_due ON questions (due) WHERE due IS NOT NULL;
