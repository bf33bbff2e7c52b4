-- +goose Up

-- Records of journals that no table could store as what they are: the sums lack them.
CREATE TABLE set_aside (
    journal  TEXT COLLATE "C" NOT NULL, -- id
    position BIGINT NOT NULL,           -- in the journal, after the record
    record   BYTEA  NOT NULL,           -- type and payload as in the journal
    reason   TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL,           -- microseconds since 1970
    PRIMARY KEY (journal, position)
);
