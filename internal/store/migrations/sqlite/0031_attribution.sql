-- +goose Up

-- The usage of an account on a past day, by end user and tags: from the rows of attempts, and the sums of rows that
-- retention had deleted before. Corrections are not included.
CREATE TABLE rollup_attribution (
    period               INTEGER NOT NULL,
    account              TEXT NOT NULL,
    model                TEXT NOT NULL, -- provider/model
    key                  TEXT NOT NULL,
    provider             TEXT NOT NULL,
    attribution          TEXT NOT NULL, -- JSON: user, tags, other; empty for none
    digest               TEXT NOT NULL, -- of attribution, which may be long
    requests             INTEGER NOT NULL DEFAULT 0,
    cost                 INTEGER NOT NULL DEFAULT 0,
    tokens               INTEGER NOT NULL DEFAULT 0,
    attempts             INTEGER NOT NULL DEFAULT 0,
    errors               INTEGER NOT NULL DEFAULT 0,
    unpriced             INTEGER NOT NULL DEFAULT 0,
    estimated            INTEGER NOT NULL DEFAULT 0,
    unknown              INTEGER NOT NULL DEFAULT 0,
    uncertain            INTEGER NOT NULL DEFAULT 0,
    margin               INTEGER NOT NULL DEFAULT 0,
    margin_uncertain     INTEGER NOT NULL DEFAULT 0,
    use_input            INTEGER NOT NULL DEFAULT 0,
    use_cache_read       INTEGER NOT NULL DEFAULT 0,
    use_cache_write      INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h   INTEGER NOT NULL DEFAULT 0,
    use_cache_read_audio INTEGER NOT NULL DEFAULT 0,
    use_audio_in         INTEGER NOT NULL DEFAULT 0,
    use_image_in         INTEGER NOT NULL DEFAULT 0,
    use_citation         INTEGER NOT NULL DEFAULT 0,
    use_output           INTEGER NOT NULL DEFAULT 0,
    use_reasoning        INTEGER NOT NULL DEFAULT 0,
    use_audio_out        INTEGER NOT NULL DEFAULT 0,
    use_image_out        INTEGER NOT NULL DEFAULT 0,
    use_request          INTEGER NOT NULL DEFAULT 0,
    use_image            INTEGER NOT NULL DEFAULT 0,
    use_character        INTEGER NOT NULL DEFAULT 0,
    use_millisecond      INTEGER NOT NULL DEFAULT 0,
    use_search           INTEGER NOT NULL DEFAULT 0,
    use_maps             INTEGER NOT NULL DEFAULT 0,
    use_x_search         INTEGER NOT NULL DEFAULT 0,
    use_file_search      INTEGER NOT NULL DEFAULT 0,
    use_code_interpreter INTEGER NOT NULL DEFAULT 0,
    use_tool_image       INTEGER NOT NULL DEFAULT 0,
    use_other_tool       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, key, digest)
) WITHOUT ROWID;

-- The days of that table.
CREATE TABLE attribution_days (
    day     INTEGER NOT NULL PRIMARY KEY,
    state   INTEGER NOT NULL, -- 0 incomplete, 1 complete, 2 deleted
    version INTEGER NOT NULL, -- changes when attempts of the day are settled
    claim   TEXT NOT NULL, -- the node that adds the day up,
    claimed INTEGER NOT NULL  -- until this time
) WITHOUT ROWID;

-- The attribution of a corrected attempt, in the form of that table.
ALTER TABLE corrections ADD COLUMN attribution TEXT NOT NULL DEFAULT '';
