-- +goose Up

-- Counts of times to first token of complete answers: ttft_25 counts times below 25 ms, ttft_50 from there to below
-- 50 ms, ttft_more from 51.2 s on. verify does not check them, because they are not money.
CREATE TABLE rollup_speed (
    period     BIGINT NOT NULL,
    account    TEXT COLLATE "C" NOT NULL,
    model      TEXT COLLATE "C" NOT NULL, -- provider/model
    ttft_25    BIGINT NOT NULL DEFAULT 0,
    ttft_50    BIGINT NOT NULL DEFAULT 0,
    ttft_100   BIGINT NOT NULL DEFAULT 0,
    ttft_200   BIGINT NOT NULL DEFAULT 0,
    ttft_400   BIGINT NOT NULL DEFAULT 0,
    ttft_800   BIGINT NOT NULL DEFAULT 0,
    ttft_1600  BIGINT NOT NULL DEFAULT 0,
    ttft_3200  BIGINT NOT NULL DEFAULT 0,
    ttft_6400  BIGINT NOT NULL DEFAULT 0,
    ttft_12800 BIGINT NOT NULL DEFAULT 0,
    ttft_25600 BIGINT NOT NULL DEFAULT 0,
    ttft_51200 BIGINT NOT NULL DEFAULT 0,
    ttft_more  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);

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
    FROM (SELECT day, account, model, (settlement::json ->> 'first_token')::bigint AS ttft
        FROM attempts WHERE outcome = 'ok') AS answers
    WHERE ttft > 0 GROUP BY day, account, model;

-- The last use of each key.
CREATE TABLE key_used (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at  BIGINT NOT NULL -- when the last attempt with it was opened
) WITH (fillfactor = 50);

INSERT INTO key_used (key, at) SELECT key, max(opened) FROM attempts GROUP BY key;

-- An account's requests, newest first.
CREATE INDEX attempts_account ON attempts (account, day, request, n);

-- Models that were used without a price.
CREATE INDEX rollup_uses_unpriced ON rollup_uses (period) WHERE unpriced > 0;
