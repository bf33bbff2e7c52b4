-- +goose Up

-- The charges of accounts for months, as of the closing of each statement. Rows are added and never change. hash
-- covers a statement with its lines and the hash of the account's previous statement.
CREATE TABLE statements (
    account TEXT COLLATE "C" NOT NULL,
    number  BIGINT NOT NULL,
    month   BIGINT NOT NULL, -- yyyymm
    closed  BIGINT NOT NULL,
    hash    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account, number)
);

CREATE TABLE statement_lines (
    account   TEXT COLLATE "C" NOT NULL,
    number    BIGINT NOT NULL,
    day       BIGINT NOT NULL, -- yyyymmdd
    model     TEXT COLLATE "C" NOT NULL,
    requests  BIGINT NOT NULL,
    tokens    BIGINT NOT NULL,
    charge    BIGINT NOT NULL,
    uncertain BIGINT NOT NULL,
    PRIMARY KEY (account, number, day, model)
);
