-- +goose Up

-- The owner of a reply or a response, and its size, for the owner's quota. A response includes 256 bytes for each
-- item that it is found by.
ALTER TABLE idempotency ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE idempotency ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE responses ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE responses ADD COLUMN size INTEGER NOT NULL DEFAULT 0;

UPDATE idempotency SET account = coalesce((SELECT account FROM keys WHERE keys.id = idempotency.scope), ''), size = coalesce(length(reply), 0);
UPDATE responses SET account = coalesce((SELECT account FROM keys WHERE keys.id = responses.scope), ''),
    size = length(sealed) + 256 * (SELECT count(*) FROM response_items WHERE response_items.response = responses.id);

-- For deletion by hand, by account.
CREATE INDEX idempotency_kept ON idempotency (account, expires) WHERE reply IS NOT NULL;
CREATE INDEX responses_account ON responses (account, created);

-- Sums of the stored data of each account, changed in the transactions of the two tables.
CREATE TABLE kept (
    account        TEXT    NOT NULL PRIMARY KEY, -- account id; '' for replies of the administration API
    replies        INTEGER NOT NULL DEFAULT 0,
    reply_bytes    INTEGER NOT NULL DEFAULT 0,
    responses      INTEGER NOT NULL DEFAULT 0,
    response_bytes INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

INSERT INTO kept (account, replies, reply_bytes, responses, response_bytes)
    SELECT account, sum(replies), sum(reply_bytes), sum(responses), sum(response_bytes) FROM (
        SELECT account, 1 AS replies, size AS reply_bytes, 0 AS responses, 0 AS response_bytes FROM idempotency WHERE reply IS NOT NULL
        UNION ALL SELECT account, 0, 0, 1, size FROM responses
    ) AS each_one GROUP BY account;
