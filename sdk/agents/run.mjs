// Runs agents against the gateway, each before a scripted provider of each of four wire formats, and prints how each
// ended. Arguments: --update writes the table into docs/compatibility.md, names of agents choose among them.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { agents } from "./agents.mjs";
import { openUpstream, turns } from "./upstream.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "weir", "agents");
const patience = 300_000; // ms for one agent before one wire format
const formats = { openai: "/v1", anthropic: "/v1", gemini: "/v1beta", responses: "/v1" };
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const folder = mkdtempSync(join(tmpdir(), "weir-agents-"));
const children = new Set();
process.on("exit", () => {
  for (const child of children) end(child);
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

// Ends a process of ours and what it started: each leads a group of its own.
function end(child) {
  children.delete(child);
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {} // it is gone
}

// Starts a process; its text grows, and gone is its exit code.
function start(command, args, options) {
  const child = spawn(command, args, { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  child.text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (child.text += data));
  child.gone = new Promise((resolve) => child.on("close", resolve).on("error", (error) => resolve(String(error))));
  return child;
}

async function says(child, pattern) {
  for (let i = 0; i < 1000; i++) {
    const found = pattern.exec(child.text);
    if (found) return found[1];
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`no ${pattern} in ${child.text}`);
}

// A gateway before one wire format, so that names of its vendor's that an agent has in its code lead to the script.
async function openGateway(program, format, upstream) {
  const home = join(folder, `gateway-${format}`);
  mkdirSync(home);
  const lines = [
    "providers:",
    `  script: {dialect: ${format}, base_url: "${upstream.url}/${format}${formats[format]}", allow_private: true, api_keys: [sk-any], retries: 0}`,
    "aliases:",
    ...agents.filter((a) => a.alias).map((a) => `  ${a.alias}: {targets: ["script/${nameOf(a, format)}"]}`),
  ];
  writeFileSync(join(home, "weir.yaml"), `${lines.join("\n")}\n`);
  const gateway = start(program, ["serve", "--listen", "127.0.0.1:0"], { cwd: home, env: { HOME: home, PATH: process.env.PATH } });
  return { url: await says(gateway, /^listening on (http:\/\/[0-9.:]+)$/m), key: await says(gateway, /(wk_[0-9A-Za-z]{46})/) };
}

const nameOf = (agent, format) => `${agent.name.toLowerCase().replaceAll(" ", "-")}-${format}`;

// Installs an agent's packages once for a version; the result is the folder.
function install(agent) {
  const at = join(cache, `${agent.name.toLowerCase().replaceAll(" ", "-")}-${agent.version}`);
  const mark = join(at, "installed");
  if (!existsSync(mark) || readFileSync(mark, "utf8") !== agent.packages.join(" ")) {
    rmSync(at, { recursive: true, force: true });
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, "package.json"), '{"private": true, "type": "module"}');
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error", ...agent.packages], { cwd: at, stdio: "inherit" });
    writeFileSync(mark, agent.packages.join(" "));
  }
  if (agent.driver) for (const name of [agent.driver, "task"]) cpSync(join(here, "drivers", `${name}.mjs`), join(at, `${name}.mjs`));
  return at;
}

// The files that the agent is to read: each has a word that stands nowhere else.
function files(work, withPicture) {
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, "picture.png"), Buffer.from(picture, "base64"));
  const list = Array.from({ length: 2 * turns }, (_, i) => {
    const name = `file-${String(i + 1).padStart(2, "0")}.txt`;
    const word = `word${(i + 1) * 7919}end`;
    writeFileSync(join(work, name), `${word}\n`);
    return { name, path: join(work, name), word };
  });
  if (withPicture) list[1] = { name: "picture.png", path: join(work, "picture.png") };
  return list;
}

async function one(agent, at, format, gateway, upstream) {
  const name = nameOf(agent, format);
  const home = join(folder, name);
  const work = join(home, "work");
  const token = `token-${name}`;
  const run = upstream.run(name, files(work, agent.reads), { full: agent.full, token, picture: picture.slice(20, 70) });
  const x = {
    ...gateway, at, home, work, picture: join(work, "picture.png"), model: `script/${name}`,
    prompt: "Read the files that you are asked for, and then tell what you were told.",
  };
  await agent.prepare?.(x);
  const [command, args] = agent.command(x);
  const env = {
    HOME: home, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, TERM: "dumb", CI: "1", NO_COLOR: "1", LANG: "C.UTF-8",
    AGENT_URL: x.url, AGENT_KEY: x.key, AGENT_MODEL: x.model, AGENT_PROMPT: x.prompt, AGENT_PICTURE: x.picture, ...agent.env?.(x),
  };
  const child = start(command, args, { cwd: work, env });
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(() => resolve("late"), patience)));
  const code = await Promise.race([child.gone, late]);
  clearTimeout(timer);
  end(child);
  return { ...judge(run, code, child.text, token), run, text: child.text };
}

function judge(run, code, text, token) {
  const faults = [...run.problems];
  if (code === "late") faults.push(`it did not end within ${patience / 1000} s`);
  else if (code !== 0) faults.push(`it ended with ${code}`);
  if (run.requests === 0) faults.push("no request came");
  else if (!run.finished) faults.push(`it stopped after turn ${run.turn} of ${turns}`);
  else if (!text.includes(token)) faults.push("it did not tell the last answer");
  return { well: faults.length === 0, faults };
}

function word({ well, faults, run }) {
  const more = [run.shown && "picture", run.compactions > 0 && "compaction"].filter(Boolean).join(", ");
  const [first, ...rest] = faults;
  return well ? `well${more && ` (${more})`}` : `**fails**: ${first}${rest.length ? `, and ${rest.length} more` : ""}`;
}

function write(rows) {
  const page = join(root, "docs", "compatibility.md");
  const begin = "<!-- agents:begin -->\n";
  const text = readFileSync(page, "utf8");
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf("<!-- agents:end -->");
  if (from < begin.length || to < from) throw new Error(`${page} has no lines ${begin}`);
  const head = `\n| agent | client API | ${Object.keys(formats).join(" | ")} |\n${"|---".repeat(2 + Object.keys(formats).length)}|\n`;
  writeFileSync(page, `${text.slice(0, from)}${head}${rows.join("\n")}\n\n${text.slice(to)}`);
}

const chosen = process.argv.slice(2).filter((a) => !a.startsWith("--"));
const upstream = await openUpstream();
const program = join(folder, "weir");
execFileSync(process.env.GO ?? "go", ["build", "-buildvcs=false", "-o", program, "./cmd/weir"], { cwd: root });
const gateways = {};
for (const format of Object.keys(formats)) gateways[format] = await openGateway(program, format, upstream);
const rows = [];
for (const agent of agents.filter((a) => chosen.length === 0 || chosen.includes(a.name))) {
  const words = [];
  for (const format of Object.keys(formats)) {
    let told;
    try {
      const outcome = await one(agent, install(agent), format, gateways[format], upstream);
      told = word(outcome);
      if (!outcome.well && process.env.VERBOSE) console.log(outcome.faults.join("\n"), outcome.text.slice(-2000));
    } catch (error) {
      told = `**fails**: ${String(error.message).split("\n")[0]}`;
    }
    console.log(`${agent.name} ${agent.version} at ${agent.api}, ${format}: ${told}`);
    words.push(told);
  }
  rows.push(`| ${agent.name} ${agent.version} | ${agent.api} | ${words.join(" | ")} |`);
}
if (process.argv.includes("--update")) write(rows);
process.exit(rows.some((row) => row.includes("**fails**")) ? 1 : 0);
