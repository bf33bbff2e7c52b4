-- +goose Up

-- What a provider is asked about a reply whose end nobody saw. A row goes when it is
-- answered, or when its time is over.
CREATE TABLE questions (
    attempt  TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- <request id>.<number>
    provider TEXT COLLATE "C" NOT NULL,
    reply    TEXT COLLATE "C" NOT NULL, -- the provider's id of it
    asked    BIGINT NOT NULL DEFAULT 0, -- how often
    due      BIGINT, -- when it is asked, in microseconds; null for never again
    until    BIGINT NOT NULL -- when it is forgotten
);
CREATE INDEX questions_due ON questions (due) WHERE due IS NOT NULL;
