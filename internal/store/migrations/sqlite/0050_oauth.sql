-- +goose Up

-- Keys of programs that act for a person by OAuth: the host that identifies the program, '' for other keys; and the only
-- path at which the key is valid, '' for any.
ALTER TABLE keys ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN resource TEXT NOT NULL DEFAULT '';
-- The user whose connections to MCP servers the key uses: its creator, until somebody else rotates it.
ALTER TABLE keys ADD COLUMN person TEXT NOT NULL DEFAULT '';

-- What people have granted programs by OAuth. The access token of a grant is the token of its key.
CREATE TABLE oauth_grants (
    key       TEXT NOT NULL PRIMARY KEY, -- id
    who       TEXT NOT NULL, -- the user's id
    client    TEXT NOT NULL, -- hash of the program's id
    redirect  TEXT NOT NULL, -- where the program received the code
    challenge TEXT NOT NULL, -- of PKCE
    resource  TEXT NOT NULL, -- the address that the tokens are for
    code      TEXT NOT NULL, -- hash of the authorization code
    family    TEXT NOT NULL, -- hash of the part that all refresh tokens share; '' before the code was used
    refresh   TEXT NOT NULL, -- hash of the newest refresh token
    created   INTEGER NOT NULL,
    until     INTEGER NOT NULL -- when the code, or the newest refresh token, expires
) WITHOUT ROWID;

CREATE UNIQUE INDEX oauth_grants_code ON oauth_grants (code);
CREATE INDEX oauth_grants_family ON oauth_grants (family);
CREATE INDEX oauth_grants_who ON oauth_grants (who);
CREATE INDEX oauth_grants_until ON oauth_grants (until);

-- Access of this installation, or of a person, to an MCP server by OAuth.
CREATE TABLE mcp_connections (
    server     TEXT NOT NULL,
    who        TEXT NOT NULL, -- the user's id; '' for the installation
    resource   TEXT NOT NULL, -- the address that the tokens are for
    issuer     TEXT NOT NULL, -- of the tokens
    sealed     TEXT NOT NULL, -- the tokens, encrypted with the master key
    renewing   INTEGER NOT NULL, -- until when a node renews the tokens; 0 for none
    created    INTEGER NOT NULL,
    PRIMARY KEY (server, who)
) WITHOUT ROWID;

CREATE INDEX mcp_connections_who ON mcp_connections (who);

-- Registrations of this installation as a client of the authorization servers of MCP servers.
CREATE TABLE mcp_clients (
    server TEXT NOT NULL,
    issuer TEXT NOT NULL,
    sealed TEXT NOT NULL, -- the id and the secret, encrypted with the master key
    PRIMARY KEY (server, issuer)
) WITHOUT ROWID;
