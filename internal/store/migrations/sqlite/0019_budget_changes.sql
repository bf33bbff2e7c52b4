-- +goose Up

-- The last change of the budget or the credit of an account or a key.
CREATE TABLE budget_changes (
    scope TEXT NOT NULL PRIMARY KEY, -- id of the account or key
    at    INTEGER NOT NULL
);
