-- +goose Up

-- The managed configuration, one row for each version; the newest is in force.
CREATE TABLE managed_versions (
    seq      BIGINT NOT NULL PRIMARY KEY, -- from 1, without a gap
    at       BIGINT NOT NULL,
    who      TEXT COLLATE "C" NOT NULL, -- actor as one line of text
    summary  TEXT COLLATE "C" NOT NULL, -- the paths that it changed
    document TEXT COLLATE "C" NOT NULL  -- JSON, encrypted with the master key
);
