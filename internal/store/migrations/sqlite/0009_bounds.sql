-- +goose Up

-- The possible excess of uncertain attempts over their cost, in nano-USD, which counts against budgets until they are
-- resolved; and classes of usage: audio from a cache, pages that a provider found and read, images in tokens, and its
-- tools by type. The tables are created again, because each ALTER TABLE reads the whole schema.

CREATE TEMP TABLE old_rollup_hour AS SELECT * FROM rollup_hour;
DROP TABLE rollup_hour;
CREATE TABLE rollup_hour (
    period             INTEGER NOT NULL,
    account            TEXT    NOT NULL,
    model              TEXT    NOT NULL, -- provider/model
    key                TEXT    NOT NULL,
    provider           TEXT    NOT NULL,
    requests           INTEGER NOT NULL DEFAULT 0,
    cost               INTEGER NOT NULL DEFAULT 0,
    tokens             INTEGER NOT NULL DEFAULT 0, -- of all classes
    attempts           INTEGER NOT NULL DEFAULT 0,
    errors             INTEGER NOT NULL DEFAULT 0, -- refused, rejected, failed, cut
    unpriced           INTEGER NOT NULL DEFAULT 0,
    estimated          INTEGER NOT NULL DEFAULT 0,
    unknown            INTEGER NOT NULL DEFAULT 0,
    use_input          INTEGER NOT NULL DEFAULT 0,
    use_cache_read     INTEGER NOT NULL DEFAULT 0,
    use_cache_write    INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h INTEGER NOT NULL DEFAULT 0,
    use_audio_in       INTEGER NOT NULL DEFAULT 0,
    use_image_in       INTEGER NOT NULL DEFAULT 0,
    use_output         INTEGER NOT NULL DEFAULT 0,
    use_reasoning      INTEGER NOT NULL DEFAULT 0,
    use_audio_out      INTEGER NOT NULL DEFAULT 0,
    use_request        INTEGER NOT NULL DEFAULT 0,
    use_search         INTEGER NOT NULL DEFAULT 0,
    use_image          INTEGER NOT NULL DEFAULT 0,
    use_character      INTEGER NOT NULL DEFAULT 0,
    use_millisecond    INTEGER NOT NULL DEFAULT 0,
    uncertain          INTEGER NOT NULL DEFAULT 0,
    use_cache_read_audio INTEGER NOT NULL DEFAULT 0,
    use_citation        INTEGER NOT NULL DEFAULT 0,
    use_image_out       INTEGER NOT NULL DEFAULT 0,
    use_maps            INTEGER NOT NULL DEFAULT 0,
    use_x_search        INTEGER NOT NULL DEFAULT 0,
    use_file_search     INTEGER NOT NULL DEFAULT 0,
    use_code_interpreter INTEGER NOT NULL DEFAULT 0,
    use_tool_image      INTEGER NOT NULL DEFAULT 0,
    use_other_tool      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, key)
) WITHOUT ROWID;
INSERT INTO rollup_hour (
    period, account, model, key, provider, requests, cost, tokens, attempts, errors, unpriced, estimated,
    unknown, use_input, use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in,
    use_output, use_reasoning, use_audio_out, use_request, use_search, use_image, use_character,
    use_millisecond
) SELECT
    period, account, model, key, provider, requests, cost, tokens, attempts, errors, unpriced, estimated,
    unknown, use_input, use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in,
    use_output, use_reasoning, use_audio_out, use_request, use_search, use_image, use_character,
    use_millisecond
FROM old_rollup_hour;
DROP TABLE old_rollup_hour;

CREATE TEMP TABLE old_rollup_day AS SELECT * FROM rollup_day;
DROP TABLE rollup_day;
CREATE TABLE rollup_day (
    period             INTEGER NOT NULL,
    account            TEXT    NOT NULL,
    model              TEXT    NOT NULL, -- provider/model
    key                TEXT    NOT NULL,
    provider           TEXT    NOT NULL,
    requests           INTEGER NOT NULL DEFAULT 0,
    cost               INTEGER NOT NULL DEFAULT 0,
    tokens             INTEGER NOT NULL DEFAULT 0, -- of all classes
    attempts           INTEGER NOT NULL DEFAULT 0,
    errors             INTEGER NOT NULL DEFAULT 0, -- refused, rejected, failed, cut
    unpriced           INTEGER NOT NULL DEFAULT 0,
    estimated          INTEGER NOT NULL DEFAULT 0,
    unknown            INTEGER NOT NULL DEFAULT 0,
    use_input          INTEGER NOT NULL DEFAULT 0,
    use_cache_read     INTEGER NOT NULL DEFAULT 0,
    use_cache_write    INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h INTEGER NOT NULL DEFAULT 0,
    use_audio_in       INTEGER NOT NULL DEFAULT 0,
    use_image_in       INTEGER NOT NULL DEFAULT 0,
    use_output         INTEGER NOT NULL DEFAULT 0,
    use_reasoning      INTEGER NOT NULL DEFAULT 0,
    use_audio_out      INTEGER NOT NULL DEFAULT 0,
    use_request        INTEGER NOT NULL DEFAULT 0,
    use_search         INTEGER NOT NULL DEFAULT 0,
    use_image          INTEGER NOT NULL DEFAULT 0,
    use_character      INTEGER NOT NULL DEFAULT 0,
    use_millisecond    INTEGER NOT NULL DEFAULT 0,
    uncertain          INTEGER NOT NULL DEFAULT 0,
    use_cache_read_audio INTEGER NOT NULL DEFAULT 0,
    use_citation        INTEGER NOT NULL DEFAULT 0,
    use_image_out       INTEGER NOT NULL DEFAULT 0,
    use_maps            INTEGER NOT NULL DEFAULT 0,
    use_x_search        INTEGER NOT NULL DEFAULT 0,
    use_file_search     INTEGER NOT NULL DEFAULT 0,
    use_code_interpreter INTEGER NOT NULL DEFAULT 0,
    use_tool_image      INTEGER NOT NULL DEFAULT 0,
    use_other_tool      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, key)
) WITHOUT ROWID;
INSERT INTO rollup_day (
    period, account, model, key, provider, requests, cost, tokens, attempts, errors, unpriced, estimated,
    unknown, use_input, use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in,
    use_output, use_reasoning, use_audio_out, use_request, use_search, use_image, use_character,
    use_millisecond
) SELECT
    period, account, model, key, provider, requests, cost, tokens, attempts, errors, unpriced, estimated,
    unknown, use_input, use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in,
    use_output, use_reasoning, use_audio_out, use_request, use_search, use_image, use_character,
    use_millisecond
FROM old_rollup_day;
DROP TABLE old_rollup_day;

CREATE TEMP TABLE old_rollup_uses AS SELECT * FROM rollup_uses;
DROP TABLE rollup_uses;
CREATE TABLE rollup_uses (
    period             INTEGER NOT NULL,
    account            TEXT    NOT NULL,
    model              TEXT    NOT NULL, -- provider/model
    requests           INTEGER NOT NULL DEFAULT 0,
    cost               INTEGER NOT NULL DEFAULT 0,
    tokens             INTEGER NOT NULL DEFAULT 0, -- of all classes
    attempts           INTEGER NOT NULL DEFAULT 0,
    errors             INTEGER NOT NULL DEFAULT 0, -- refused, rejected, failed, cut
    unpriced           INTEGER NOT NULL DEFAULT 0,
    estimated          INTEGER NOT NULL DEFAULT 0,
    unknown            INTEGER NOT NULL DEFAULT 0,
    use_input          INTEGER NOT NULL DEFAULT 0,
    use_cache_read     INTEGER NOT NULL DEFAULT 0,
    use_cache_write    INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h INTEGER NOT NULL DEFAULT 0,
    use_audio_in       INTEGER NOT NULL DEFAULT 0,
    use_image_in       INTEGER NOT NULL DEFAULT 0,
    use_output         INTEGER NOT NULL DEFAULT 0,
    use_reasoning      INTEGER NOT NULL DEFAULT 0,
    use_audio_out      INTEGER NOT NULL DEFAULT 0,
    use_request        INTEGER NOT NULL DEFAULT 0,
    use_search         INTEGER NOT NULL DEFAULT 0,
    use_image          INTEGER NOT NULL DEFAULT 0,
    use_character      INTEGER NOT NULL DEFAULT 0,
    use_millisecond    INTEGER NOT NULL DEFAULT 0,
    uncertain          INTEGER NOT NULL DEFAULT 0,
    use_cache_read_audio INTEGER NOT NULL DEFAULT 0,
    use_citation        INTEGER NOT NULL DEFAULT 0,
    use_image_out       INTEGER NOT NULL DEFAULT 0,
    use_maps            INTEGER NOT NULL DEFAULT 0,
    use_x_search        INTEGER NOT NULL DEFAULT 0,
    use_file_search     INTEGER NOT NULL DEFAULT 0,
    use_code_interpreter INTEGER NOT NULL DEFAULT 0,
    use_tool_image      INTEGER NOT NULL DEFAULT 0,
    use_other_tool      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model)
) WITHOUT ROWID;
INSERT INTO rollup_uses (
    period, account, model, requests, cost, tokens, attempts, errors, unpriced, estimated, unknown, use_input,
    use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in, use_output,
    use_reasoning, use_audio_out, use_request, use_search, use_image, use_character, use_millisecond
) SELECT
    period, account, model, requests, cost, tokens, attempts, errors, unpriced, estimated, unknown, use_input,
    use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in, use_output,
    use_reasoning, use_audio_out, use_request, use_search, use_image, use_character, use_millisecond
FROM old_rollup_uses;
DROP TABLE old_rollup_uses;
CREATE INDEX rollup_uses_unpriced ON rollup_uses (period) WHERE unpriced > 0;

CREATE TEMP TABLE old_checkpoints AS SELECT * FROM checkpoints;
DROP TABLE checkpoints;
CREATE TABLE checkpoints (
    period             INTEGER NOT NULL,
    account            TEXT    NOT NULL,
    model              TEXT    NOT NULL, -- provider/model
    key                TEXT    NOT NULL,
    provider           TEXT    NOT NULL,
    requests           INTEGER NOT NULL DEFAULT 0,
    cost               INTEGER NOT NULL DEFAULT 0,
    tokens             INTEGER NOT NULL DEFAULT 0, -- of all classes
    attempts           INTEGER NOT NULL DEFAULT 0,
    errors             INTEGER NOT NULL DEFAULT 0, -- refused, rejected, failed, cut
    unpriced           INTEGER NOT NULL DEFAULT 0,
    estimated          INTEGER NOT NULL DEFAULT 0,
    unknown            INTEGER NOT NULL DEFAULT 0,
    use_input          INTEGER NOT NULL DEFAULT 0,
    use_cache_read     INTEGER NOT NULL DEFAULT 0,
    use_cache_write    INTEGER NOT NULL DEFAULT 0,
    use_cache_write_1h INTEGER NOT NULL DEFAULT 0,
    use_audio_in       INTEGER NOT NULL DEFAULT 0,
    use_image_in       INTEGER NOT NULL DEFAULT 0,
    use_output         INTEGER NOT NULL DEFAULT 0,
    use_reasoning      INTEGER NOT NULL DEFAULT 0,
    use_audio_out      INTEGER NOT NULL DEFAULT 0,
    use_request        INTEGER NOT NULL DEFAULT 0,
    use_search         INTEGER NOT NULL DEFAULT 0,
    use_image          INTEGER NOT NULL DEFAULT 0,
    use_character      INTEGER NOT NULL DEFAULT 0,
    use_millisecond    INTEGER NOT NULL DEFAULT 0,
    uncertain          INTEGER NOT NULL DEFAULT 0,
    use_cache_read_audio INTEGER NOT NULL DEFAULT 0,
    use_citation        INTEGER NOT NULL DEFAULT 0,
    use_image_out       INTEGER NOT NULL DEFAULT 0,
    use_maps            INTEGER NOT NULL DEFAULT 0,
    use_x_search        INTEGER NOT NULL DEFAULT 0,
    use_file_search     INTEGER NOT NULL DEFAULT 0,
    use_code_interpreter INTEGER NOT NULL DEFAULT 0,
    use_tool_image      INTEGER NOT NULL DEFAULT 0,
    use_other_tool      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (period, account, model, key)
) WITHOUT ROWID;
INSERT INTO checkpoints (
    period, account, model, key, provider, requests, cost, tokens, attempts, errors, unpriced, estimated,
    unknown, use_input, use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in,
    use_output, use_reasoning, use_audio_out, use_request, use_search, use_image, use_character,
    use_millisecond
) SELECT
    period, account, model, key, provider, requests, cost, tokens, attempts, errors, unpriced, estimated,
    unknown, use_input, use_cache_read, use_cache_write, use_cache_write_1h, use_audio_in, use_image_in,
    use_output, use_reasoning, use_audio_out, use_request, use_search, use_image, use_character,
    use_millisecond
FROM old_checkpoints;
DROP TABLE old_checkpoints;

ALTER TABLE corrections ADD COLUMN uncertain INTEGER NOT NULL DEFAULT 0; -- added; not positive

-- JSON array of {name, times, rates, tiers}: the model's prices by service tier, region or speed. Null means that
-- they are equal.
ALTER TABLE prices ADD COLUMN modes TEXT NOT NULL DEFAULT 'null';

-- Cancelling was the default. Now complete answers are read to their end by default.
UPDATE accounts SET on_hangup = 'default' WHERE on_hangup = 'cancel';
