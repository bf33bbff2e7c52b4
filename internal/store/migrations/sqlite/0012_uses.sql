-- +goose Up

-- Only PostgreSQL has the index that changes: rollup_uses_account.
SELECT 1;
