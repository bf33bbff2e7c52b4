-- +goose Up

-- What the provider of single sign-on calls the session, by which it ends it; '' for none.
ALTER TABLE sessions ADD COLUMN sid TEXT COLLATE "C" NOT NULL DEFAULT '';
