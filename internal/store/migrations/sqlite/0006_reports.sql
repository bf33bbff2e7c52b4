-- +goose Up

-- Counts of times to first token of complete answers: ttft_25 counts times below 25 ms, ttft_50 from there to below
-- 50 ms, ttft_more from 51.2 s on. verify does not check them, because they are not money.
CREATE TABLE rollup_speed (
    period     INTEGER NOT NULL,
    account    TEXT    NOT NULL,
    model      TEXT    NOT NULL, -- provider/model
    ttft_25    INTEGER NOT NULL DEFAULT 0,
    ttft_50    INTEGER NOT NULL DEFAULT 0,
    ttft_100   INTEGER NOT NULL DEFAULT 0,
    ttft_200   INTEGER NOT NULL DEFAULT 0,
    ttft_400   INTEGER NOT NULL DEFAULT 0,
    ttft_800   INTEGER NOT NULL DEFAULT 0,
    ttft_1600  INTEGER NOT NULL DEFAULT 0,
    ttft_3200  INTEGER NOT NULL DEFAULT 0,
    ttft_6400  INTEGER NOT NULL DEFAULT 0,
    ttft_12800 INTEGER NOT NULL DEFAULT 0,
    ttft_25600 INTEGER NOT NULL DEFAULT 0,
    ttft_51200 INTEGER NOT NULL DEFAULT 0,
    ttft_more  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model)
) WITHOUT ROWID;

INSERT INTO rollup_speed (period, account, model,
        ttft_25, ttft_50, ttft_100, ttft_200, ttft_400, ttft_800, ttft_1600,
        ttft_3200, ttft_6400, ttft_12800, ttft_25600, ttft_51200, ttft_more)
    SELECT day, account, model,
        sum(CASE WHEN ttft < 25000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 25000 AND ttft < 50000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 50000 AND ttft < 100000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 100000 AND ttft < 200000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 200000 AND ttft < 400000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 400000 AND ttft < 800000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 800000 AND ttft < 1600000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 1600000 AND ttft < 3200000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 3200000 AND ttft < 6400000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 6400000 AND ttft < 12800000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 12800000 AND ttft < 25600000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 25600000 AND ttft < 51200000 THEN 1 ELSE 0 END),
        sum(CASE WHEN ttft >= 51200000 THEN 1 ELSE 0 END)
    FROM (SELECT day, account, model, json_extract(settlement, '$.first_token') AS ttft
        FROM attempts WHERE outcome = 'ok') AS answers
    WHERE ttft > 0 GROUP BY day, account, model;

-- The last use of each key.
CREATE TABLE key_used (
    key TEXT    NOT NULL PRIMARY KEY,
    at  INTEGER NOT NULL -- when the last attempt with it was opened
) WITHOUT ROWID;

INSERT INTO key_used (key, at) SELECT key, max(opened) FROM attempts GROUP BY key;

-- An account's requests, newest first.
CREATE INDEX attempts_account ON attempts (account, day, request, n);

-- Models that were used without a price.
CREATE INDEX rollup_uses_unpriced ON rollup_uses (period) WHERE unpriced > 0;
