-- +goose Up

-- What accounts are charged for months, as it was when each statement was closed. Rows are added and never changed; hash
-- is over a statement with its lines and the hash of the account's statement before.
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
