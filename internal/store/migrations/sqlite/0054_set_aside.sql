-- +goose Up

-- Records of journals that no table could store as what they are: the sums lack them.
CREATE TABLE set_aside (
    journal  TEXT    NOT NULL, -- id
    position INTEGER NOT NULL, -- in the journal, after the record
    record   BLOB    NOT NULL, -- type and payload as in the journal
    reason   TEXT    NOT NULL,
    at       INTEGER NOT NULL, -- microseconds since 1970
    PRIMARY KEY (journal, position)
) WITHOUT ROWID;
