-- +goose Up

-- What an account used on a day that is over, by end user and tags: from the rows of attempts, and what of them
-- retention had deleted before. Corrections are not in it.
CREATE TABLE rollup_attribution (
    period               BIGINT NOT NULL,
    account              TEXT COLLATE "C" NOT NULL,
    model                TEXT COLLATE "C" NOT NULL, -- provider/model
    key                  TEXT COLLATE "C" NOT NULL,
    provider             TEXT COLLATE "C" NOT NULL,
    attribution          TEXT COLLATE "C" NOT NULL, -- JSON: user, tags, other; empty for none
    digest               TEXT COLLATE "C" NOT NULL, -- of that, which may be long
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

-- Which days that table has.
CREATE TABLE attribution_days (
    day     BIGINT NOT NULL PRIMARY KEY,
    state   BIGINT NOT NULL, -- 0 not yet, 1 it has all of the day, 2 not any more
    version BIGINT NOT NULL, -- another one when attempts of the day were settled
    claim   TEXT COLLATE "C" NOT NULL, -- who adds the day up,
    claimed BIGINT NOT NULL  -- until then
);

-- For whom and for what a corrected attempt was, as that table has it.
ALTER TABLE corrections ADD COLUMN attribution TEXT COLLATE "C" NOT NULL DEFAULT '';
