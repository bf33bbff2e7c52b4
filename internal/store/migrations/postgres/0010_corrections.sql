-- +goose Up

-- Corrections by an amount: an attempt can have several, each with its reason. The kind
-- is resolved, for what the attempt cost in the end, or amount, for what is added to that.
ALTER TABLE corrections ADD COLUMN seq BIGINT NOT NULL DEFAULT 1; -- among those of its kind, from 1
ALTER TABLE corrections ADD COLUMN reason TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE corrections DROP CONSTRAINT corrections_pkey;
ALTER TABLE corrections ADD PRIMARY KEY (day, request, n, kind, seq);

-- What an account that does not pay beforehand was given: it owes so much less. Credit
-- that was given, and not paid, is told apart.
ALTER TABLE accounts ADD COLUMN goodwill BIGINT NOT NULL DEFAULT 0;
ALTER TABLE credits ADD COLUMN goodwill BIGINT NOT NULL DEFAULT 0; -- 1 for what was given
