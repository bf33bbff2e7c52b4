-- +goose Up

-- PostgreSQL alone has the index that changes: rollup_uses_account.
SELECT 1;
