-- +goose Up

-- A number for each MCP server that grows with every change of its stored definitions: gateways read it to see
-- whether their lists are current.
CREATE TABLE mcp_shelves (
    server  TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;
