-- +goose Up

-- Salted hashes that replace a person's data in the hash of an entry; '' if the hash covers the data itself. The salt
-- is '' after the data was deleted.
ALTER TABLE audit ADD COLUMN actor_salt TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN actor_proof TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN object_salt TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN object_proof TEXT COLLATE "C" NOT NULL DEFAULT '';
