-- +goose Up

-- The tags that a key's requests have where they say nothing else, and those that they need: JSON object of
-- defaults, an object of names and values, and required, an array of names.
ALTER TABLE keys ADD COLUMN tags TEXT COLLATE "C" NOT NULL DEFAULT '{}';
