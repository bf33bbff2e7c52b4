-- +goose Up

-- The numbers of refused requests over all accounts, by hour and by day. Hours are stored for some days.
CREATE TABLE refusals_sums (
    unit    BIGINT NOT NULL, -- 3600 or 86400, in seconds
    grouped TEXT COLLATE "C" NOT NULL, -- account or reason
    period  BIGINT NOT NULL, -- start of the hour or day, in Unix seconds
    value   TEXT COLLATE "C" NOT NULL, -- of the column
    n       BIGINT NOT NULL,
    PRIMARY KEY (unit, grouped, period, value)
);

INSERT INTO refusals_sums SELECT 3600, 'account', minute - minute % 3600, account, cast(sum(n) AS BIGINT) FROM refusals
    GROUP BY minute - minute % 3600, account;
INSERT INTO refusals_sums SELECT 3600, 'reason', minute - minute % 3600, reason, cast(sum(n) AS BIGINT) FROM refusals
    GROUP BY minute - minute % 3600, reason;
INSERT INTO refusals_sums SELECT 86400, 'account', minute - minute % 86400, account, cast(sum(n) AS BIGINT) FROM refusals
    GROUP BY minute - minute % 86400, account;
INSERT INTO refusals_sums SELECT 86400, 'reason', minute - minute % 86400, reason, cast(sum(n) AS BIGINT) FROM refusals
    GROUP BY minute - minute % 86400, reason;
