-- +goose Up

-- The numbers of refused requests over all accounts, by hour and by day. Hours are stored for some days.
CREATE TABLE refusals_sums (
    unit    INTEGER NOT NULL, -- 3600 or 86400, in seconds
    grouped TEXT    NOT NULL, -- account or reason
    period  INTEGER NOT NULL, -- start of the hour or day, in Unix seconds
    value   TEXT    NOT NULL, -- of the column
    n       INTEGER NOT NULL,
    PRIMARY KEY (unit, grouped, period, value)
) WITHOUT ROWID;

INSERT INTO refusals_sums SELECT 3600, 'account', minute - minute % 3600, account, sum(n) FROM refusals
    GROUP BY minute - minute % 3600, account;
INSERT INTO refusals_sums SELECT 3600, 'reason', minute - minute % 3600, reason, sum(n) FROM refusals
    GROUP BY minute - minute % 3600, reason;
INSERT INTO refusals_sums SELECT 86400, 'account', minute - minute % 86400, account, sum(n) FROM refusals
    GROUP BY minute - minute % 86400, account;
INSERT INTO refusals_sums SELECT 86400, 'reason', minute - minute % 86400, reason, sum(n) FROM refusals
    GROUP BY minute - minute % 86400, reason;
