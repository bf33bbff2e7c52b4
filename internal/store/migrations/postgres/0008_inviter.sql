-- +goose Up

-- The creator of an invitation, which is valid only as long as the creator may invite.
ALTER TABLE invitations ADD COLUMN inviter_id TEXT COLLATE "C" NOT NULL DEFAULT ''; -- of the user or the key, '' for none

UPDATE invitations SET inviter_id = coalesce((
    SELECT l.actor_id FROM audit l
    WHERE l.object_id = invitations.id AND l.action IN ('member.invited', 'operator.invited') ORDER BY l.seq LIMIT 1
), '');
