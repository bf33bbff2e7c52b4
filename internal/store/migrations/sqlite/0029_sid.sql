-- +goose Up

-- The single sign-on provider's id of the session, by which it ends the session; '' for none.
ALTER TABLE sessions ADD COLUMN sid TEXT NOT NULL DEFAULT '';
