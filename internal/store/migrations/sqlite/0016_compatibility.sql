-- +goose Up

-- The oldest schema version whose programs can use this database, in one row. A migration that only adds columns or
-- tables does not change it. One that removes or changes anything that older programs use sets it, two releases
-- later.
CREATE TABLE schema_compatibility (least INTEGER NOT NULL);
INSERT INTO schema_compatibility (least) VALUES (16);
