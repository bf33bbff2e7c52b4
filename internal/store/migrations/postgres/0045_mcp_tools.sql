-- +goose Up

-- The definitions of MCP servers' tools: the approved one, and one that has changed and is held until an operator
-- approves it.
CREATE TABLE mcp_tools (
    server          TEXT COLLATE "C" NOT NULL,
    tool            TEXT COLLATE "C" NOT NULL,
    digest          TEXT COLLATE "C" NOT NULL,
    definition      TEXT COLLATE "C" NOT NULL, -- JSON
    held_digest     TEXT COLLATE "C" NOT NULL, -- empty for none
    held_definition TEXT COLLATE "C" NOT NULL, -- JSON; empty for none
    approved        BIGINT NOT NULL, -- when, in microseconds
    changed         BIGINT NOT NULL, -- when the held one was first seen; 0 for none
    PRIMARY KEY (server, tool)
);
