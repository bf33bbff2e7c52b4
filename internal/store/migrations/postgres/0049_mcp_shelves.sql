-- +goose Up

-- A number for each MCP server that grows with every change of its stored definitions: gateways read it to see
-- whether their lists are current.
CREATE TABLE mcp_shelves (
    server  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL
);
