-- +goose Up

-- The oldest schema version whose programs can use this database: one row. A migration that only adds what they do not
-- look at leaves it; one that takes away or changes what they use sets it, two releases after the other.
CREATE TABLE schema_compatibility (least bigint NOT NULL);
INSERT INTO schema_compatibility (least) VALUES (16);
