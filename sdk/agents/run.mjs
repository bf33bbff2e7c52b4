// Runs agents against the gateway, each before the strict simulator of each vendor, and prints how each ended. Arguments:
// --update writes the table into docs/compatibility.md, --vendors=openai,gemini are some of its columns, names of agents
// choose among its rows.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { openTLS } from "../node/lib/tls.mjs";
import { agents } from "./agents.mjs";
import { Gateway } from "./gateway.mjs";
import { end, endAll, says, start } from "./process.mjs";
import { write } from "./table.mjs";
import { files } from "./task.mjs";
import { openUpstream, turns } from "./upstream.mjs";
import { after, vendors } from "./vendors.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const patience = 300_000; // ms for one agent before one vendor
const atOnce = 2; // agents

const folder = mkdtempSync(join(tmpdir(), "weir-agents-"));
const packages = resolve(process.env.PACKAGES || join(folder, "packages")); // kept for another run where it is named
process.on("exit", () => {
  endAll();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const installed = new Map();
const idOf = (agent) => agent.name.toLowerCase().replaceAll(/[ ,]+/g, "-");

// Installs an agent's packages, once for a version; the result is the folder.
function install(agent) {
  const key = agent.packages.join(" ");
  if (!installed.has(key)) installed.set(key, installAt(agent, join(packages, `${idOf(agent)}-${agent.version}`)));
  return installed.get(key);
}

async function installAt(agent, at) {
  const mark = join(at, "installed");
  if (!existsSync(mark) || readFileSync(mark, "utf8") !== agent.packages.join(" ")) {
    rmSync(at, { recursive: true, force: true });
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, "package.json"), '{"private": true, "type": "module"}');
    const npm = start("npm", ["install", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error", ...agent.packages], { cwd: at });
    if ((await npm.gone) !== 0) throw new Error(`npm install: ${npm.text}`);
    writeFileSync(mark, agent.packages.join(" "));
  }
  if (agent.driver) for (const name of [agent.driver, "task"]) cpSync(join(here, "drivers", `${name}.mjs`), join(at, `${name}.mjs`));
  return at;
}

async function one(agent, vendor) {
  const at = await install(agent);
  const name = `${idOf(agent)}-${vendor.name}`;
  const home = join(folder, name);
  const work = join(home, "work");
  const token = `token-${name}`;
  const gateway = new Gateway(program, join(folder, `gateway-${name}`), `${upstream.url}/${name}`, [model, agent.alias].filter(Boolean));
  await gateway.open(vendor);
  const run = upstream.run(name, files(work, (agent.reads ?? []).filter((what) => !vendor.lacks?.[what])), {
    full: agent.full, again: agent.again, token, first: vendor, second: after(vendor),
    change: (away) => gateway.turnTo(away ? after(vendor) : vendor),
  });
  const secure = agent.tls && (await openTLS(gateway, gateway.home));
  const x = {
    url: secure?.url ?? gateway.url, cert: secure?.cert, key: gateway.key, model, at, home, work, picture: join(work, "picture.png"), document: join(work, "document.pdf"),
    prompt: "Read the files that you are asked for, and then tell what you were told.",
  };
  await agent.prepare?.(x);
  const [command, args] = agent.command(x);
  const env = {
    HOME: home, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, TERM: "dumb", CI: "1", NO_COLOR: "1", LANG: "C.UTF-8",
    AGENT_URL: x.url, AGENT_KEY: x.key, AGENT_MODEL: x.model, AGENT_PROMPT: x.prompt, AGENT_PICTURE: x.picture, AGENT_DOCUMENT: vendor.lacks?.PDF ? "" : x.document,
    ...agent.env?.(x),
  };
  let { code, text } = await toItsEnd(command, args, { cwd: work, env });
  if (run.paused && code === 0) ({ code, text } = await toItsEnd(...agent.again.command(x), { cwd: work, env }));
  gateway.close();
  secure?.server.close();
  if (agent.sockets && (secure.sockets === 0 || secure.sockets < secure.connections)) run.problem(`of ${secure.connections} connections ${secure.sockets} were WebSockets`);
  return { faults: judge({ ...vendor.lacks, ...agent.lacks }, run, code, text, token), run, text };
}

// Waits for an agent as long as it may take.
async function toItsEnd(command, args, options) {
  const child = start(command, args, options);
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(() => resolve("late"), patience)));
  const code = await Promise.race([child.gone, late]);
  clearTimeout(timer);
  end(child);
  return { code, text: child.text };
}

function judge(lacks, run, code, text, token) {
  const faults = [...run.problems];
  if (code === "late") faults.push(`it did not end within ${patience / 1000} s`);
  else if (code !== 0) faults.push(`it ended with ${code}`);
  if (run.requests === 0) faults.push("no request came");
  else if (!run.finished) faults.push(`it stopped after turn ${run.turn} of ${turns}`);
  else if (!text.includes(token)) faults.push("it did not tell the last answer");
  for (const what of ["picture", "PDF", "compaction"]) {
    if (run.seen.has(what) === Boolean(lacks[what])) faults.push(lacks[what] ? `a ${what} came, which is said to be lacking` : `no ${what} came`);
  }
  return faults;
}

async function cell(agent, vendor) {
  let outcome;
  try {
    outcome = await one(agent, vendor);
  } catch (error) {
    outcome = { faults: [error.message], text: error.stack };
  }
  const [first, ...rest] = outcome.faults;
  const told = first ? `**fails**: ${first.split("\n")[0]}${rest.length ? `, and ${rest.length} more` : ""}` : "well";
  const thought = [...(outcome.run?.thought ?? [])].join(" and ");
  console.log(`${agent.name} ${agent.version} at ${agent.api}, ${vendor.title}: ${told}${thought && `; thinking of ${thought}`}`);
  if (first && process.env.VERBOSE) console.log(outcome.faults.join("\n"), "\nIt said:", outcome.text.slice(-2000));
  return told;
}

// Does all of a list, some at once, and gives the results in its order.
async function all(list, work) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const i = next++;
      results[i] = await work(list[i]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

const model = "script"; // an alias
const names = process.argv.slice(2).filter((a) => !a.startsWith("--"));
const some = process.argv.find((a) => a.startsWith("--vendors="))?.slice("--vendors=".length).split(",");
const rows = agents.filter((a) => names.length === 0 || names.includes(a.name));
const columns = vendors.filter((v) => !some || some.includes(v.name));
const program = join(folder, "weir");
const provider = join(folder, "provider");
for (const [to, source] of [[program, "./cmd/weir"], [provider, "./internal/simulatortest"]]) {
  execFileSync(process.env.GO ?? "go", ["build", "-buildvcs=false", "-o", to, source], { cwd: root });
}
const simulator = start(provider, [], { cwd: folder, env: { HOME: folder, PATH: process.env.PATH } });
const upstream = await openUpstream(await says(simulator, /^simulating on (http:\/\/[0-9.:]+);/m));
const told = await all(rows.flatMap((agent) => columns.map((vendor) => [agent, vendor])), ([agent, vendor]) => cell(agent, vendor));
if (process.argv.includes("--update")) {
  if (rows.length !== agents.length || columns.length !== vendors.length) throw new Error("the table is written whole: name no agents and no vendors");
  write(join(root, "docs", "compatibility.md"), agents, vendors, told);
}
process.exit(told.some((t) => t !== "well") ? 1 : 0);
