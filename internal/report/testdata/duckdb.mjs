// Asks DuckDB questions: statements of SQL as an array of JSON on standard input, the rows of each on standard output.
// Numbers and dates are texts, as DuckDB writes them.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { DuckDBInstance } = createRequire(process.cwd() + "/")("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
const answers = [];
for (const statement of JSON.parse(readFileSync(0, "utf8"))) {
  const result = await connection.runAndReadAll(statement);
  answers.push(result.getRowsJson().map((row) => row.map((cell) => (cell === null ? null : String(cell)))));
}
process.stdout.write(JSON.stringify(answers));
