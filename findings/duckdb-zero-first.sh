#!/usr/bin/env bash
# DuckDB 1.5.6 (npm @duckdb/node-api 1.5.6-r.1) takes a column of a CSV file for whole numbers where the 20,480 rows that it
# looks at have none but whole numbers, and reads 0.0123 further down as 0, without an error: a sum of costs is 0. One
# would expect an error, as for a text in a column of numbers, or a wider type. Costs that all have decimals are read right.
#
# Output seen on 2026-11-28:
#   20479 rows of 0, then 9000 of 0.0123: BIGINT, sum 0
#   20479 rows of 0.000000000, then 9000 of 0.0123: DOUBLE, sum 110.7
#   with the type given: DECIMAL(18,9), sum 110.700000000
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { DuckDBInstance } from "@duckdb/node-api";
import { writeFileSync } from "node:fs";

const connection = await (await DuckDBInstance.create(":memory:")).connect();
async function look(what, zero, source) {
  writeFileSync("costs.csv", "id,cost\n" + Array.from({ length: 29479 }, (_, i) => `a${i},${i < 20479 ? zero : "0.0123"}\n`).join(""));
  const answer = await connection.runAndReadAll(`SELECT typeof(any_value(cost)), CAST(round(sum(cost), 9) AS VARCHAR) FROM ${source}`);
  console.log(`${what}: ${answer.getRowsJson()[0].join(", sum ")}`);
}
await look("20479 rows of 0, then 9000 of 0.0123", "0", "read_csv('costs.csv')");
await look("20479 rows of 0.000000000, then 9000 of 0.0123", "0.000000000", "read_csv('costs.csv')");
await look("with the type given", "0", "read_csv('costs.csv', types = {'cost': 'DECIMAL(18,9)'})");
JS
npm install --no-audit --no-fund --loglevel=error @duckdb/node-api@1.5.6-r.1 >/dev/null

node main.mjs | tee seen
diff seen - <<'WANT'
20479 rows of 0, then 9000 of 0.0123: BIGINT, sum 0
20479 rows of 0.000000000, then 9000 of 0.0123: DOUBLE, sum 110.7
with the type given: DECIMAL(18,9), sum 110.700000000
WANT
