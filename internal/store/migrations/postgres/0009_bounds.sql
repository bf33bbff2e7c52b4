-- +goose Up

-- The possible excess of uncertain attempts over their cost, in nano-USD, which counts against budgets until they are
-- resolved; and classes of usage: audio from a cache, pages that a provider found and read, images in tokens, and its
-- tools by type.
ALTER TABLE rollup_hour ADD COLUMN uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_cache_read_audio BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_citation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_image_out BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_maps BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_x_search BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_file_search BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_code_interpreter BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_tool_image BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_other_tool BIGINT NOT NULL DEFAULT 0;

ALTER TABLE rollup_day ADD COLUMN uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_cache_read_audio BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_citation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_image_out BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_maps BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_x_search BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_file_search BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_code_interpreter BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_tool_image BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_other_tool BIGINT NOT NULL DEFAULT 0;

ALTER TABLE rollup_uses ADD COLUMN uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_cache_read_audio BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_citation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_image_out BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_maps BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_x_search BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_file_search BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_code_interpreter BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_tool_image BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_other_tool BIGINT NOT NULL DEFAULT 0;

ALTER TABLE checkpoints ADD COLUMN uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_cache_read_audio BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_citation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_image_out BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_maps BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_x_search BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_file_search BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_code_interpreter BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_tool_image BIGINT NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_other_tool BIGINT NOT NULL DEFAULT 0;

ALTER TABLE corrections ADD COLUMN uncertain BIGINT NOT NULL DEFAULT 0; -- added; not positive

-- JSON array of {name, times, rates, tiers}: the model's prices by service tier, region or speed. Null means that
-- they are equal.
ALTER TABLE prices ADD COLUMN modes TEXT COLLATE "C" NOT NULL DEFAULT 'null';

-- Cancelling was the default. Now complete answers are read to their end by default.
UPDATE accounts SET on_hangup = 'default' WHERE on_hangup = 'cancel';
