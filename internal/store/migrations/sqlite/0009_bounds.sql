-- +goose Up

-- What attempts of which nobody knows the cost may have cost beyond it, in nano-USD:
-- budgets count it until they are resolved. And classes of usage: audio from a cache,
-- pages that a provider found and read, images in tokens, and its tools by type.
ALTER TABLE rollup_hour ADD COLUMN uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_cache_read_audio INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_citation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_image_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_maps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_x_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_file_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_code_interpreter INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_tool_image INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_hour ADD COLUMN use_other_tool INTEGER NOT NULL DEFAULT 0;

ALTER TABLE rollup_day ADD COLUMN uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_cache_read_audio INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_citation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_image_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_maps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_x_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_file_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_code_interpreter INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_tool_image INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_day ADD COLUMN use_other_tool INTEGER NOT NULL DEFAULT 0;

ALTER TABLE rollup_uses ADD COLUMN uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_cache_read_audio INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_citation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_image_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_maps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_x_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_file_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_code_interpreter INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_tool_image INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollup_uses ADD COLUMN use_other_tool INTEGER NOT NULL DEFAULT 0;

ALTER TABLE checkpoints ADD COLUMN uncertain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_cache_read_audio INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_citation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_image_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_maps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_x_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_file_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_code_interpreter INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_tool_image INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN use_other_tool INTEGER NOT NULL DEFAULT 0;

ALTER TABLE corrections ADD COLUMN uncertain INTEGER NOT NULL DEFAULT 0; -- what it adds; not positive

-- JSON array of {name, times, rates, tiers}: what the model costs by service tier, region
-- or speed. Null says that it costs the same in all.
ALTER TABLE prices ADD COLUMN modes TEXT NOT NULL DEFAULT 'null';

-- Cancelling was what everybody had. Now whole answers are read to their end by default.
UPDATE accounts SET on_hangup = 'default' WHERE on_hangup = 'cancel';
