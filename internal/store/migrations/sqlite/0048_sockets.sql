-- +goose Up

-- The open WebSockets of clients, as their nodes last reported them.
CREATE TABLE sockets (
    id        TEXT NOT NULL PRIMARY KEY,
    node      TEXT NOT NULL, -- id of the node's journal
    account   TEXT NOT NULL,
    key       TEXT NOT NULL, -- id
    api       TEXT NOT NULL, -- responses or realtime
    model     TEXT NOT NULL, -- of the last request; empty before the first one
    began     INTEGER NOT NULL, -- in microseconds, as all times here
    active    INTEGER NOT NULL, -- when a request last began or ended
    requests  INTEGER NOT NULL, -- that have ended
    running   INTEGER NOT NULL,
    charge    INTEGER NOT NULL, -- of the ended ones, in nano-USD
    uncertain INTEGER NOT NULL, -- 1 if the charge may be higher
    ending    INTEGER NOT NULL -- when a person ended it; 0 for not
) WITHOUT ROWID;

CREATE INDEX sockets_account ON sockets (account, id);
CREATE INDEX sockets_node ON sockets (node);

-- When each node last reported. The WebSockets of a node that is silent do not exist any more.
CREATE TABLE socket_nodes (
    node TEXT NOT NULL PRIMARY KEY,
    seen INTEGER NOT NULL
) WITHOUT ROWID;
