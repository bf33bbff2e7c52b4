-- +goose Up

-- The managed configuration, one row for each version; the newest is in force.
CREATE TABLE managed_versions (
    seq      INTEGER NOT NULL PRIMARY KEY, -- from 1, without a gap
    at       INTEGER NOT NULL,
    who      TEXT NOT NULL, -- actor as one line of text
    summary  TEXT NOT NULL, -- the paths that it changed
    document TEXT NOT NULL  -- JSON, encrypted with the master key
);
