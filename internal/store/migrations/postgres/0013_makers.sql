-- +goose Up

-- The creator of an endpoint, or of its current address: an endpoint of the installation is disabled when the creator
-- is no longer an operator.
ALTER TABLE webhooks ADD COLUMN maker TEXT COLLATE "C" NOT NULL DEFAULT ''; -- id of the user or the key, '' for none

UPDATE webhooks SET maker = coalesce((
    SELECT l.actor_id FROM audit l
    WHERE l.object_id = webhooks.id AND (l.action = 'webhook.created' OR l.action = 'webhook.changed' AND l.became LIKE '%"url":%')
    ORDER BY l.seq DESC LIMIT 1
), '');
