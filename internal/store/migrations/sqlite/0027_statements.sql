-- +goose Up

-- The charges of accounts for months, as of the closing of each statement. Rows are added and never change. hash
-- covers a statement with its lines and the hash of the account's previous statement.
CREATE TABLE statements (
    account TEXT NOT NULL,
    number  INTEGER NOT NULL,
    month   INTEGER NOT NULL, -- yyyymm
    closed  INTEGER NOT NULL,
    hash    TEXT NOT NULL,
    PRIMARY KEY (account, number)
);

CREATE TABLE statement_lines (
    account   TEXT NOT NULL,
    number    INTEGER NOT NULL,
    day       INTEGER NOT NULL, -- yyyymmdd
    model     TEXT NOT NULL,
    requests  INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    charge    INTEGER NOT NULL,
    uncertain INTEGER NOT NULL,
    PRIMARY KEY (account, number, day, model)
);
