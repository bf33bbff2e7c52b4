-- +goose Up

-- 1 for an event of an account that endpoints of the installation receive, too, although later ones of its type are for
-- the account alone: an alert from before accounts had limits of their own.
ALTER TABLE events ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
UPDATE events SET shared = 1
WHERE account <> '' AND type IN ('alert.fired', 'alert.ended')
  AND json_extract(body, '$.data.alert.id') IN (SELECT id FROM alerts WHERE own = 0);
