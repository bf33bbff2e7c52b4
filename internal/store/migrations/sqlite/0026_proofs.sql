-- +goose Up

-- What stands in the chain for what an entry says of a person; '' where the chain has the words themselves. The salt is
-- '' where the words were forgotten.
ALTER TABLE audit ADD COLUMN actor_salt TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN actor_proof TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN object_salt TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN object_proof TEXT NOT NULL DEFAULT '';
