-- +goose Up

-- The minutes that are not yet added up to hours.
CREATE INDEX refusals_minutes ON refusals (minute) WHERE minute % 3600 <> 0;
