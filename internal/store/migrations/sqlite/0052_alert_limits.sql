-- +goose Up

-- The limits of alerts that accounts have set themselves; 0 switches a kind off.
CREATE TABLE alert_limits (
    account TEXT NOT NULL,
    kind    TEXT NOT NULL,
    bound   INTEGER NOT NULL,
    PRIMARY KEY (account, kind)
) WITHOUT ROWID;

-- 1 for an alert by the limits in force for the account, of which only the account is notified; 0 for an alert of the
-- installation.
ALTER TABLE alerts ADD COLUMN own INTEGER NOT NULL DEFAULT 0;
DROP INDEX alerts_active;
CREATE UNIQUE INDEX alerts_active ON alerts (kind, account, subject, own) WHERE ended IS NULL;
-- Accounts keep their history, under ids of version 8.
INSERT INTO alerts (id, kind, account, subject, value, bound, text, fired, ended, own)
SELECT substr(id, 1, 14) || '8' || substr(id, 16), kind, account, subject, value, bound, text, fired, ended, 1
FROM alerts WHERE account <> '';
