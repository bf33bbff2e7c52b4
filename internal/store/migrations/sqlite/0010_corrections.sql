-- +goose Up

-- Corrections by an amount: an attempt can have several, each with its reason. The table is created again for its
-- primary key.
CREATE TEMP TABLE old_corrections AS SELECT * FROM corrections;
DROP TABLE corrections;
CREATE TABLE corrections (
    day       INTEGER NOT NULL, -- of the attempt
    request   TEXT    NOT NULL,
    n         INTEGER NOT NULL,
    kind      TEXT    NOT NULL, -- resolved: the final cost; amount: an addition to it
    hour      INTEGER NOT NULL, -- of the attempt
    account   TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    provider  TEXT    NOT NULL,
    model     TEXT    NOT NULL, -- provider/model
    usage     TEXT    NOT NULL, -- added; may be negative
    cost      INTEGER NOT NULL, -- added; may be negative
    unknown   INTEGER NOT NULL, -- added to the number of unknown attempts
    who       TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    uncertain INTEGER NOT NULL DEFAULT 0, -- added; not positive
    seq       INTEGER NOT NULL DEFAULT 1, -- number within its kind, from 1
    reason    TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (day, request, n, kind, seq)
) WITHOUT ROWID;
INSERT INTO corrections (day, request, n, kind, seq, hour, account, key, provider, model, usage, cost, unknown, uncertain, reason, who, at)
    SELECT day, request, n, kind, 1, hour, account, key, provider, model, usage, cost, unknown, uncertain, '', who, at FROM old_corrections;
DROP TABLE old_corrections;

-- The goodwill of an account that does not pay in advance: it owes this much less. Credit that was granted and not
-- paid is marked.
ALTER TABLE accounts ADD COLUMN goodwill INTEGER NOT NULL DEFAULT 0;
ALTER TABLE credits ADD COLUMN goodwill INTEGER NOT NULL DEFAULT 0; -- 1 for granted credit

-- Sums of a day's attempts that retention has deleted, by the version of their price, whose rates explain the sums.
-- They add up to the checkpoints.
CREATE TABLE explanations (
    period               INTEGER NOT NULL,
    account              TEXT NOT NULL,
    model                TEXT NOT NULL, -- provider/model
    price                TEXT NOT NULL DEFAULT '-', -- version; empty for none, '-' for a deleted one
    requests             INTEGER NOT NULL DEFAULT 0,
    cost                 INTEGER NOT NULL DEFAULT 0,
    tokens               INTEGER NOT NULL DEFAULT 0,
    attempts             INTEGER NOT NULL DEFAULT 0,
    errors               INTEGER NOT NULL DEFAULT 0,
    unpriced             INTEGER NOT NULL DEFAULT 0,
    estimated            INTEGER NOT NULL DEFAULT 0,
    unknown              INTEGER NOT NULL DEFAULT 0,
    use_input            INTEGER NOT NULL DEFAULT 0,
    use_cache_read       INTEGER NOT NULL DEFAULT 0,
    use_cache_write      INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h   INTEGER NOT NULL DEFAULT 0,
    use_audio_in         INTEGER NOT NULL DEFAULT 0,
    use_image_in         INTEGER NOT NULL DEFAULT 0,
    use_output           INTEGER NOT NULL DEFAULT 0,
    use_reasoning        INTEGER NOT NULL DEFAULT 0,
    use_audio_out        INTEGER NOT NULL DEFAULT 0,
    use_request          INTEGER NOT NULL DEFAULT 0,
    use_search           INTEGER NOT NULL DEFAULT 0,
    use_image            INTEGER NOT NULL DEFAULT 0,
    use_character        INTEGER NOT NULL DEFAULT 0,
    use_millisecond      INTEGER NOT NULL DEFAULT 0,
    uncertain            INTEGER NOT NULL DEFAULT 0,
    use_cache_read_audio INTEGER NOT NULL DEFAULT 0,
    use_citation         INTEGER NOT NULL DEFAULT 0,
    use_image_out        INTEGER NOT NULL DEFAULT 0,
    use_maps             INTEGER NOT NULL DEFAULT 0,
    use_x_search         INTEGER NOT NULL DEFAULT 0,
    use_file_search      INTEGER NOT NULL DEFAULT 0,
    use_code_interpreter INTEGER NOT NULL DEFAULT 0,
    use_tool_image       INTEGER NOT NULL DEFAULT 0,
    use_other_tool       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, price)
) WITHOUT ROWID;
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
