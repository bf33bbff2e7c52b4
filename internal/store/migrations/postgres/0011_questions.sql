-- +goose Up

-- Questions to providers about replies with an unseen end. A row is deleted when it is answered or has expired.
CREATE TABLE questions (
    attempt  TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- <request id>.<number>
    provider TEXT COLLATE "C" NOT NULL,
    reply    TEXT COLLATE "C" NOT NULL, -- the provider's id of the reply
    asked    BIGINT NOT NULL DEFAULT 0, -- how often
    due      BIGINT, -- next time, in microseconds; null for never again
    until    BIGINT NOT NULL -- when it is deleted
);
CREATE INDEX questions_due ON questions (due) WHERE due IS NOT NULL;
