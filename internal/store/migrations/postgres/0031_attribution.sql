-- +goose Up

-- The usage of an account on a past day, by end user and tags: from the rows of attempts, and the sums of rows that
-- retention had deleted before. Corrections are not included.
CREATE TABLE rollup_attribution (
    period               BIGINT NOT NULL,
    account              TEXT COLLATE "C" NOT NULL,
    model                TEXT COLLATE "C" NOT NULL, -- provider/model
    key                  TEXT COLLATE "C" NOT NULL,
    provider             TEXT COLLATE "C" NOT NULL,
    attribution          TEXT COLLATE "C" NOT NULL, -- JSON: user, tags, other; empty for none
    digest               TEXT COLLATE "C" NOT NULL, -- of attribution, which may be long
    requests             BIGINT NOT NULL DEFAULT 0,
    cost                 BIGINT NOT NULL DEFAULT 0,
    tokens               BIGINT NOT NULL DEFAULT 0,
    attempts             BIGINT NOT NULL DEFAULT 0,
    errors               BIGINT NOT NULL DEFAULT 0,
    unpriced             BIGINT NOT NULL DEFAULT 0,
    estimated            BIGINT NOT NULL DEFAULT 0,
    unknown              BIGINT NOT NULL DEFAULT 0,
    uncertain            BIGINT NOT NULL DEFAULT 0,
    margin               BIGINT NOT NULL DEFAULT 0,
    margin_uncertain     BIGINT NOT NULL DEFAULT 0,
    use_input            BIGINT NOT NULL DEFAULT 0,
    use_cache_read       BIGINT NOT NULL DEFAULT 0,
    use_cache_write      BIGINT NOT NULL DEFAULT 0,
    use_cache_write_1h   BIGINT NOT NULL DEFAULT 0,
    use_cache_read_audio BIGINT NOT NULL DEFAULT 0,
    use_audio_in         BIGINT NOT NULL DEFAULT 0,
    use_image_in         BIGINT NOT NULL DEFAULT 0,
    use_citation         BIGINT NOT NULL DEFAULT 0,
    use_output           BIGINT NOT NULL DEFAULT 0,
    use_reasoning        BIGINT NOT NULL DEFAULT 0,
    use_audio_out        BIGINT NOT NULL DEFAULT 0,
    use_image_out        BIGINT NOT NULL DEFAULT 0,
    use_request          BIGINT NOT NULL DEFAULT 0,
    use_image            BIGINT NOT NULL DEFAULT 0,
    use_character        BIGINT NOT NULL DEFAULT 0,
    use_millisecond      BIGINT NOT NULL DEFAULT 0,
    use_search           BIGINT NOT NULL DEFAULT 0,
    use_maps             BIGINT NOT NULL DEFAULT 0,
    use_x_search         BIGINT NOT NULL DEFAULT 0,
    use_file_search      BIGINT NOT NULL DEFAULT 0,
    use_code_interpreter BIGINT NOT NULL DEFAULT 0,
    use_tool_image       BIGINT NOT NULL DEFAULT 0,
    use_other_tool       BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, key, digest)
);

-- The days of that table.
CREATE TABLE attribution_days (
    day     BIGINT NOT NULL PRIMARY KEY,
    state   BIGINT NOT NULL, -- 0 incomplete, 1 complete, 2 deleted
    version BIGINT NOT NULL, -- changes when attempts of the day are settled
    claim   TEXT COLLATE "C" NOT NULL, -- the node that adds the day up,
    claimed BIGINT NOT NULL  -- until this time
);

-- The attribution of a corrected attempt, in the form of that table.
ALTER TABLE corrections ADD COLUMN attribution TEXT COLLATE "C" NOT NULL DEFAULT '';
