// Runs the official conformance suite of the Model Context Protocol against the official everything-server, alone and
// through a gateway, against the official client, alone and through a gateway, and against the gateway's authorization
// server. It compares the scenarios. --update writes the tables of docs/mcp-conformance.md; ONLY=name takes some scenarios.
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { says, start } from "../agents/process.mjs";
import { consents, person, program } from "./person.mjs";
import { build, everything, finish, freePort, gateway, here, plain, proxy, root, run } from "./programs.mjs";

const page = join(root, "docs", "mcp-conformance.md");
const home = mkdtempSync(join(tmpdir(), "weir-mcp-"));
const weir = join(home, "weir");
const legs = [
  { name: "2026-07-28", args: ["--requirements", "2026-07-28"] },
  { name: "2025-11-25", args: ["--requirements", "2025-11-25"] },
];

// The client scenarios by revision.
const clientLegs = {
  "2026-07-28": ["request-metadata", "tools_call", "sep-2322-client-request-state", "http-standard-headers",
    "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation"],
  "2025-11-25": ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation"],
};

// Those of authorization: a person connects the gateway to the suite's server. The last one is an extension, which the
// official client does not have; others of extensions need signed assertions or proofs, which the gateway does not send.
const bothEras = ["metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "scope-from-www-authenticate",
  "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit", "token-endpoint-auth-basic",
  "token-endpoint-auth-post", "token-endpoint-auth-none", "pre-registration"];
const authLegs = {
  "2026-07-28": [...bothEras, "resource-mismatch", "offline-access-scope", "offline-access-not-supported",
    "authorization-server-migration", "iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer",
    "iss-unexpected", "iss-normalized", "metadata-issuer-mismatch", "client-credentials-basic"],
  "2025-11-25": bothEras,
  "2025-03-26": ["2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback"],
};

// Checks that the suite makes only of answers in events, where the gateway answers in JSON if there are no notifications,
// only of clients that declare roots, as the official client does without a need, and only of the official client's own
// address of a description, where the gateway has another one.
const unneeded = ["server-sse-streams-functional", "server-sse-retry-field", "sep-2575-client-declares-roots-capability",
  "cimd-client-id-used"];

const only = (names) => names.filter((name) => !process.env.ONLY || name.includes(process.env.ONLY));

async function alone() {
  const port = await freePort();
  await says(everything(home, port), /(listening)/);
  return `http://127.0.0.1:${port}`;
}

/** Runs the suite, and returns by scenario which checks passed and failed. */
async function scenarios(mode, args, meanwhile) {
  const out = mkdtempSync(join(home, "results-"));
  const suite = join(here, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
  const child = start(process.execPath, [suite, mode, "--output-dir", out, ...args], { cwd: home, env: process.env });
  await meanwhile?.(child);
  await child.gone;
  const found = new Map();
  for (const file of readdirSync(out, { recursive: true })) {
    if (!file.endsWith("checks.json")) continue;
    const checks = JSON.parse(readFileSync(join(out, file), "utf8"));
    const name = dirname(file).replace(/^(authorization-)?server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
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
  const through = await proxy(await gateway(weir, home, plain(server)));
  const lines = [];
  for (const leg of legs) {
    lines.push(...compare(leg.name, await scenarios("server", ["--url", server, ...leg.args]), await scenarios("server", ["--url", through, ...leg.args])));
  }
  return lines;
}

/** Scenarios with each check once: a program that begins anew is checked again, as often as it does. */
const once = (found) => new Map([...found].map(([name, r]) => [name, { passed: [...new Set(r.passed)], failed: [...new Set(r.failed)] }]));

/** Compares client scenarios, which a script runs through the gateway. */
async function clients(script, byRevision, prefix) {
  const client = build(home, "everything-client", "github.com/modelcontextprotocol/go-sdk/conformance/everything-client");
  const through = (leg) => [process.execPath, join(here, script), home, leg].join(" ");
  const lines = [];
  for (const [leg, names] of Object.entries(byRevision)) {
    for (const name of only(names)) {
      const args = (command) => ["--scenario", prefix + name, "--spec-version", leg, "--force", "--timeout", "90000", "--command", command];
      const both = [await scenarios("client", args(client)), await scenarios("client", args(through(leg)))];
      lines.push(...compare(leg, ...(prefix ? both.map(once) : both)));
    }
  }
  return lines;
}

/** Runs the scenarios of authorization servers against the gateway's: it gives a program access for a person. */
async function issuer() {
  const own = mkdtempSync(join(home, "issuer-"));
  const [port, back] = [await freePort(), await freePort()];
  const { url, setup } = await gateway(weir, own, `public_url: http://127.0.0.1:${port}\n`, port);
  const found = await scenarios("authorization", [
    "--url", url, "--client-id", await program(url, `http://127.0.0.1:${back}/callback`), "--resource", `${url}/mcp`, "--port", String(back),
    "--spec-version", "2026-07-28",
  ], consents(await person(setup), url));
  return [...found].sort().map(([name, r]) => {
    tally.scenarios++;
    tally.worse += r.failed.length > 0 ? 1 : 0;
    return `| 2026-07-28 | \`${name}\` | ${text(r)} |`;
  });
}

async function main() {
  if (!existsSync(join(here, "node_modules"))) run("npm", ["ci", "--no-progress", "--loglevel=error"], { cwd: here });
  build(home, "weir", "./cmd/weir");
  const table = (who, lines) => `| revision | scenario | ${who} alone | through the gateway |\n|---|---|---|---|\n${lines.join("\n")}\n`;
  const tables = [
    table("the server", process.env.ONLY ? [] : await servers()),
    table("the client", await clients("client.mjs", clientLegs, "")),
    table("the client", await clients("authorized.mjs", authLegs, "auth/")),
    `| revision | scenario | the gateway |\n|---|---|---|\n${(await issuer()).join("\n")}\n`,
  ];
  if (process.argv.includes("--update")) {
    const parts = readFileSync(page, "utf8").split(/^((?:\|.*\n)+)/m);
    writeFileSync(page, parts.map((part, i) => (i % 2 === 1 ? tables[(i - 1) / 2] : part)).join(""));
  }
  console.log(`${tally.scenarios} scenarios, ${tally.worse} worse and ${tally.fewer} with fewer checks through the gateway`);
  return tally.worse + tally.fewer === 0 ? 0 : 1;
}

await finish(home, main);
