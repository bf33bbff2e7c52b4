-- +goose Up

-- Corrections by an amount: an attempt can have several, each with its reason. kind is resolved, for the final cost
-- of the attempt, or amount, for an addition to it.
ALTER TABLE corrections ADD COLUMN seq BIGINT NOT NULL DEFAULT 1; -- number within its kind, from 1
ALTER TABLE corrections ADD COLUMN reason TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE corrections DROP CONSTRAINT corrections_pkey;
ALTER TABLE corrections ADD PRIMARY KEY (day, request, n, kind, seq);

-- The goodwill of an account that does not pay in advance: it owes this much less. Credit that was granted and not
-- paid is marked.
ALTER TABLE accounts ADD COLUMN goodwill BIGINT NOT NULL DEFAULT 0;
ALTER TABLE credits ADD COLUMN goodwill BIGINT NOT NULL DEFAULT 0; -- 1 for granted credit

-- Sums of a day's attempts that retention has deleted, by the version of their price, whose rates explain the sums.
-- They add up to the checkpoints.
CREATE TABLE explanations (
    period               BIGINT NOT NULL,
    account              TEXT COLLATE "C" NOT NULL,
    model                TEXT COLLATE "C" NOT NULL, -- provider/model
    price                TEXT COLLATE "C" NOT NULL DEFAULT '-', -- version; empty for none, '-' for a deleted one
    requests             BIGINT NOT NULL DEFAULT 0,
    cost                 BIGINT NOT NULL DEFAULT 0,
    tokens               BIGINT NOT NULL DEFAULT 0,
    attempts             BIGINT NOT NULL DEFAULT 0,
    errors               BIGINT NOT NULL DEFAULT 0,
    unpriced             BIGINT NOT NULL DEFAULT 0,
    estimated            BIGINT NOT NULL DEFAULT 0,
    unknown              BIGINT NOT NULL DEFAULT 0,
    use_input            BIGINT NOT NULL DEFAULT 0,
    use_cache_read       BIGINT NOT NULL DEFAULT 0,
    use_cache_write      BIGINT NOT NULL DEFAULT 0,
    use_cache_write_1h   BIGINT NOT NULL DEFAULT 0,
    use_audio_in         BIGINT NOT NULL DEFAULT 0,
    use_image_in         BIGINT NOT NULL DEFAULT 0,
    use_output           BIGINT NOT NULL DEFAULT 0,
    use_reasoning        BIGINT NOT NULL DEFAULT 0,
    use_audio_out        BIGINT NOT NULL DEFAULT 0,
    use_request          BIGINT NOT NULL DEFAULT 0,
    use_search           BIGINT NOT NULL DEFAULT 0,
    use_image            BIGINT NOT NULL DEFAULT 0,
    use_character        BIGINT NOT NULL DEFAULT 0,
    use_millisecond      BIGINT NOT NULL DEFAULT 0,
    uncertain            BIGINT NOT NULL DEFAULT 0,
    use_cache_read_audio BIGINT NOT NULL DEFAULT 0,
    use_citation         BIGINT NOT NULL DEFAULT 0,
    use_image_out        BIGINT NOT NULL DEFAULT 0,
    use_maps             BIGINT NOT NULL DEFAULT 0,
    use_x_search         BIGINT NOT NULL DEFAULT 0,
    use_file_search      BIGINT NOT NULL DEFAULT 0,
    use_code_interpreter BIGINT NOT NULL DEFAULT 0,
    use_tool_image       BIGINT NOT NULL DEFAULT 0,
    use_other_tool       BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, price)
);
INSERT INTO explanations (
    period, account, model, requests, cost, tokens, attempts, errors, unpriced, estimated, unknown,
    use_input, use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in,
    use_output, use_reasoning, use_audio_out, use_request, use_search, use_image, use_character,
    use_millisecond, uncertain, use_cache_read_audio, use_citation, use_image_out, use_maps,
    use_x_search, use_file_search, use_code_interpreter, use_tool_image, use_other_tool
) SELECT
    period, account, model, sum(requests), sum(cost), sum(tokens), sum(attempts), sum(errors),
    sum(unpriced), sum(estimated), sum(unknown), sum(use_input), sum(use_cache_read),
    sum(use_cache_write), sum(use_cache_write_1h), sum(use_audio_in), sum(use_image_in),
    sum(use_output), sum(use_reasoning), sum(use_audio_out), sum(use_request), sum(use_search),
    sum(use_image), sum(use_character), sum(use_millisecond), sum(uncertain),
    sum(use_cache_read_audio), sum(use_citation), sum(use_image_out), sum(use_maps),
    sum(use_x_search), sum(use_file_search), sum(use_code_interpreter), sum(use_tool_image),
    sum(use_other_tool)
FROM checkpoints GROUP BY period, account, model;
