-- +goose Up

-- The definitions of MCP servers' tools: the approved one, and one that has changed and is held until an operator
-- approves it.
CREATE TABLE mcp_tools (
    server          TEXT NOT NULL,
    tool            TEXT NOT NULL,
    digest          TEXT NOT NULL,
    definition      TEXT NOT NULL, -- JSON
    held_digest     TEXT NOT NULL, -- empty for none
    held_definition TEXT NOT NULL, -- JSON; empty for none
    approved        INTEGER NOT NULL, -- when, in microseconds
    changed         INTEGER NOT NULL, -- when the held one was first seen; 0 for none
    PRIMARY KEY (server, tool)
) WITHOUT ROWID;
