-- +goose Up

-- The open WebSockets of clients, as their nodes last reported them.
CREATE TABLE sockets (
    id        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    node      TEXT COLLATE "C" NOT NULL, -- id of the node's journal
    account   TEXT COLLATE "C" NOT NULL,
    key       TEXT COLLATE "C" NOT NULL, -- id
    api       TEXT COLLATE "C" NOT NULL, -- responses or realtime
    model     TEXT COLLATE "C" NOT NULL, -- of the last request; empty before the first one
    began     BIGINT NOT NULL, -- in microseconds, as all times here
    active    BIGINT NOT NULL, -- when a request last began or ended
    requests  BIGINT NOT NULL, -- that have ended
    running   BIGINT NOT NULL,
    charge    BIGINT NOT NULL, -- of the ended ones, in nano-USD
    uncertain BIGINT NOT NULL, -- 1 if the charge may be higher
    ending    BIGINT NOT NULL -- when a person ended it; 0 for not
);

CREATE INDEX sockets_account ON sockets (account, id);
CREATE INDEX sockets_node ON sockets (node);

-- When each node last reported. The WebSockets of a node that is silent do not exist any more.
CREATE TABLE socket_nodes (
    node TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seen BIGINT NOT NULL
);
