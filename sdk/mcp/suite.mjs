// Runs the official conformance suite of the Model Context Protocol against the official everything-server, alone and
// through a gateway, and against the official client, alone and through a gateway. It compares the scenarios. --update
// writes the tables of docs/mcp-conformance.md.
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { says, start } from "../agents/process.mjs";
import { build, everything, finish, freePort, gateway, here, plain, proxy, root, run } from "./programs.mjs";

const page = join(root, "docs", "mcp-conformance.md");
const home = mkdtempSync(join(tmpdir(), "weir-mcp-"));
const legs = [
  { name: "2026-07-28", args: ["--requirements", "2026-07-28"] },
  { name: "2025-11-25", args: ["--requirements", "2025-11-25"] },
];


// The client scenarios by revision. Those of authorization need a person who signs in to the gateway and consents.
const clientLegs = {
  "2026-07-28": ["request-metadata", "tools_call", "sep-2322-client-request-state", "http-standard-headers",
    "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation"],
  "2025-11-25": ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation"],
};

// Checks that the suite makes only of answers in events, where the gateway answers in JSON if there are no notifications,
// and only of clients that declare roots, as the official client does without a need.
const unneeded = ["server-sse-streams-functional", "server-sse-retry-field", "sep-2575-client-declares-roots-capability"];

async function alone() {
  const port = await freePort();
  await says(everything(home, port), /(listening)/);
  return `http://127.0.0.1:${port}`;
}

/** Runs the suite, and returns by scenario which checks passed and failed. */
async function scenarios(mode, args) {
  const out = mkdtempSync(join(home, "results-"));
  const suite = join(here, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
  const child = start(process.execPath, [suite, mode, "--output-dir", out, ...args], { cwd: home, env: process.env });
  await child.gone;
  const found = new Map();
  for (const file of readdirSync(out, { recursive: true })) {
    if (!file.endsWith("checks.json")) continue;
    const checks = JSON.parse(readFileSync(join(out, file), "utf8"));
    const name = dirname(file).replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    const of = (status) => checks.filter((c) => c.status === status);
    found.set(name, { passed: of("SUCCESS").map((c) => c.id), failed: of("FAILURE").map((c) => c.id) });
  }
  if (found.size === 0) throw new Error(`no results:\n${child.text}`);
  return found;
}

const text = (r) => (!r ? "not run" : r.failed.length === 0 ? `passes (${r.passed.length})` : `${r.failed.length} of ${r.passed.length + r.failed.length} fail`);

/** Returns the checks of a that are not in b, each as often as it is missing. */
function without(a, b) {
  const rest = [...b];
  return a.filter((id) => !rest.includes(id) || !rest.splice(rest.indexOf(id), 1));
}

const tally = { scenarios: 0, worse: 0, fewer: 0 };

/** Compares scenarios, and returns the lines of a table. */
function compare(leg, alone, both) {
  return [...alone].sort().map(([name, a]) => {
    const b = both.get(name);
    const lost = b ? without(b.failed, a.failed) : ["everything"];
    const missing = without(a.passed, b ? [...b.passed, ...lost, ...unneeded] : []);
    if (lost.length > 0) console.log(`${leg} ${name}: fails only through the gateway: ${lost.join(", ")}`);
    if (missing.length > 0) console.log(`${leg} ${name}: not checked through the gateway: ${missing.join(", ")}`);
    tally.scenarios++;
    tally.worse += lost.length > 0 ? 1 : 0;
    tally.fewer += missing.length > 0 ? 1 : 0;
    return `| ${leg} | \`${name}\` | ${text(a)} | ${text(b)} |`;
  });
}

async function servers() {
  const server = await alone();
  const through = await proxy(await gateway(build(home, "weir", "./cmd/weir"), home, plain(server)));
  const lines = [];
  for (const leg of legs) {
    lines.push(...compare(leg.name, await scenarios("server", ["--url", server, ...leg.args]), await scenarios("server", ["--url", through, ...leg.args])));
  }
  return lines;
}

async function clients() {
  const client = build(home, "everything-client", "github.com/modelcontextprotocol/go-sdk/conformance/everything-client");
  const through = (leg) => [process.execPath, join(here, "client.mjs"), home, leg].join(" ");
  const lines = [];
  for (const [leg, names] of Object.entries(clientLegs)) {
    for (const name of names) {
      const args = (command) => ["--scenario", name, "--spec-version", leg, "--command", command];
      lines.push(...compare(leg, await scenarios("client", args(client)), await scenarios("client", args(through(leg)))));
    }
  }
  return lines;
}

async function main() {
  if (!existsSync(join(here, "node_modules"))) run("npm", ["ci", "--no-progress", "--loglevel=error"], { cwd: here });
  const table = (who, lines) => `| revision | scenario | ${who} alone | through the gateway |\n|---|---|---|---|\n${lines.join("\n")}\n`;
  const first = table("the server", await servers());
  const second = table("the client", await clients());
  if (process.argv.includes("--update")) {
    const [head, , between] = readFileSync(page, "utf8").split(/^((?:\|.*\n)+)/m);
    writeFileSync(page, head + first + between + second);
  }
  console.log(`${tally.scenarios} scenarios, ${tally.worse} worse and ${tally.fewer} with fewer checks through the gateway`);
  return tally.worse + tally.fewer === 0 ? 0 : 1;
}

await finish(home, main);
