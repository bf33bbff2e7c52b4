// Runs the official conformance suite of the Model Context Protocol against the official everything-server, alone and
// through a gateway, and compares the scenarios. --update writes the table of docs/mcp-conformance.md.
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { says, start } from "../agents/process.mjs";
import { build, everything, finish, freePort, here, root, run } from "./programs.mjs";

const page = join(root, "docs", "mcp-conformance.md");
const home = mkdtempSync(join(tmpdir(), "weir-mcp-"));
const legs = [
  { name: "2026-07-28", args: ["--requirements", "2026-07-28"] },
  { name: "2025-11-25", args: ["--requirements", "2025-11-25"] },
];

// Checks that the suite makes only of answers in events. The gateway answers in JSON if there are no notifications.
const ofEvents = ["server-sse-streams-functional", "server-sse-retry-field"];

async function alone() {
  const port = await freePort();
  await says(everything(home, port), /(listening)/);
  return `http://127.0.0.1:${port}`;
}

/** Starts a gateway before the server, and returns the address of a proxy that adds an API key. */
async function gateway(behind) {
  const all = '["*"]';
  writeFileSync(join(home, "weir.yaml"), `mcp_servers:
  everything: {url: "${behind}", allow_private: true, tools: ${all}, prompts: ${all}, resources: ${all}}
mcp_bundles:
  plain: {tools: ["*/*"], prompts: ["*/*"], resources: ["*/*"], names: plain}
`);
  const options = { cwd: home, env: { HOME: home, PATH: process.env.PATH } };
  const program = build(home, "weir", "./cmd/weir");
  const child = start(program, ["serve", "--listen", "127.0.0.1:0"], options);
  const url = await says(child, /^listening on (http:\/\/[0-9.:]+)$/m);
  const made = start(program, ["keys", "create", "--account", "default", "--label", "suite", "--permission", "tools"], options);
  await made.gone;
  const key = /wk_[0-9A-Za-z]{46}/.exec(made.text)[0];
  return proxy(new URL(url), key);
}

/** The suite sends no keys: a proxy adds one, and keeps the suite's Host, which a scenario falsifies. */
async function proxy(to, key) {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const onward = request({ host: to.hostname, port: to.port, method: incoming.method, path: "/mcp/plain", headers, setHost: false }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  return `http://127.0.0.1:${server.address().port}/`;
}

/** Runs the scenarios of a leg, and returns by scenario how many checks passed and failed. */
async function scenarios(url, leg) {
  const out = mkdtempSync(join(home, "results-"));
  const suite = join(here, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
  const child = start(process.execPath, [suite, "server", "--url", url, "--output-dir", out, ...leg.args], { cwd: home, env: process.env });
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

async function main() {
  if (!existsSync(join(here, "node_modules"))) run("npm", ["ci", "--no-progress", "--loglevel=error"], { cwd: here });
  const server = await alone();
  const through = await gateway(server);
  const lines = [];
  let worse = 0, fewer = 0;
  for (const leg of legs) {
    const alone = await scenarios(server, leg);
    const both = await scenarios(through, leg);
    for (const [name, a] of [...alone].sort()) {
      const b = both.get(name);
      const lost = b ? without(b.failed, a.failed) : ["everything"];
      const missing = without(a.passed, b ? [...b.passed, ...lost, ...ofEvents] : []);
      if (lost.length > 0) console.log(`${leg.name} ${name}: fails only through the gateway: ${lost.join(", ")}`);
      if (missing.length > 0) console.log(`${leg.name} ${name}: not checked through the gateway: ${missing.join(", ")}`);
      worse += lost.length > 0 ? 1 : 0;
      fewer += missing.length > 0 ? 1 : 0;
      lines.push(`| ${leg.name} | \`${name}\` | ${text(a)} | ${text(b)} |`);
    }
  }
  if (process.argv.includes("--update")) {
    const [head] = readFileSync(page, "utf8").split(/^\| revision/m);
    writeFileSync(page, `${head}| revision | scenario | the server alone | through the gateway |\n|---|---|---|---|\n${lines.join("\n")}\n`);
  }
  console.log(`${lines.length} scenarios, ${worse} worse and ${fewer} with fewer checks through the gateway`);
  return worse + fewer === 0 ? 0 : 1;
}

await finish(home, main);
