-- +goose Up

-- The default tags of a key's requests, and the tags that they must have: a JSON object with defaults, an object of
-- names and values, and required, an array of names.
ALTER TABLE keys ADD COLUMN tags TEXT COLLATE "C" NOT NULL DEFAULT '{}';
