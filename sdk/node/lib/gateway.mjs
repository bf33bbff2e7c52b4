// The processes under test: the gateway and, behind it, the simulator as one
// provider of each wire format.
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { price } from "./question.mjs";
import { openScripted, scriptNames } from "./script.mjs";
import { openSearched, searchedAlias, vendors } from "./searched.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const patience = 20_000; // ms that a process has to start, or to stop

// Where each wire format begins behind the simulator's address.
const prefixes = { openai: "/v1", responses: "/v1", anthropic: "/v1", gemini: "/v1beta", bedrock: "", cohere: "/v2", ollama: "" };

/** The wire formats of providers; a provider is named after each. */
export const providers = Object.keys(prefixes);

/** A provider of that wire format that may be told to refuse: its key then rests. */
export const busy = (provider) => `${provider}-busy`;

/** The wire formats that the scripted provider has, and its names in the configuration. */
export const scripted = ["openai", "gemini"];
export const scriptedAlias = (dialect, script) => `${dialect}-${script}`; // for who takes no name with a slash
export const scriptedAs = (dialect, script) => `scripted-${dialect}${{ 429: "-busy", 504: "-hasty" }[script] ?? ""}`;

/** Builds and starts everything. close() ends it. */
export async function openHouse() {
  const gateway = new Gateway(await mkdtemp(join(tmpdir(), "weir-node-")));
  process.on("exit", () => gateway.kill());
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  try {
    await gateway.start();
  } catch (err) {
    await gateway.close();
    throw err;
  }
  return gateway;
}

class Gateway {
  #children = [];

  constructor(dir) {
    this.dir = dir;
    this.program = join(dir, "weir");
  }

  async start() {
    const provider = join(this.dir, "provider");
    for (const [program, source] of [[this.program, "./cmd/weir"], [provider, "./internal/simulatortest"]]) {
      await run(process.env.GO ?? "go", ["build", "-buildvcs=false", "-o", program, source], { cwd: root });
    }
    const simulator = this.#serve([], provider);
    this.simulator = await simulator.says(/^simulating on (http:\/\/[0-9.:]+);/m);
    this.scripted = await openScripted();
    this.searched = await openSearched();
    await writeFile(join(this.dir, "weir.yaml"), configuration(this.simulator, this.scripted.url, this.searched.url));
    const gateway = this.#serve(["serve", "--listen", "127.0.0.1:0"]);
    this.url = await gateway.says(/^listening on (http:\/\/[0-9.:]+)$/m);
    await gateway.says(/^See what it (cost)/m); // the account is there
    this.key = await this.#newKey("chat,uses");
    this.usesKey = await this.#newKey("uses");
  }

  async #newKey(permission) {
    const args = ["keys", "create", "--account", "default", "--label", `node ${permission}`, "--permission", permission];
    return (await this.weir(...args)).trim();
  }

  /** What a command of the operator writes. */
  weir(...args) {
    return run(this.program, args, this.#place());
  }

  // Nothing of this machine's environment reaches the processes but what the
  // system needs: a vendor's key in it would switch a provider on.
  #place() {
    return { cwd: this.dir, env: { HOME: this.dir, PATH: process.env.PATH } };
  }

  #serve(args, program = this.program) {
    const child = new Child(spawn(program, args, { ...this.#place(), stdio: ["ignore", "pipe", "pipe"] }), [program, ...args].join(" "));
    this.#children.push(child);
    return child;
  }

  /** The simulator's records of the requests for a model's name, without the provider. */
  async records(model) {
    const reply = await fetch(`${this.simulator}/ledger`);
    return (await reply.json()).filter((r) => r.model === model);
  }

  /** The simulator's last record of a model, once it is as it has to be. */
  async record(model, right) {
    const end = Date.now() + patience;
    for (;;) {
      const last = (await this.records(model)).at(-1);
      if (last && right(last)) return last;
      if (Date.now() > end) throw new Error(`the simulator's ledger has of ${model}: ${JSON.stringify(last)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async close() {
    await Promise.all(this.#children.map((child) => child.stop()));
    this.scripted?.close();
    this.searched?.close();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** Ends what still runs, and takes away what is left, where close() was not reached. */
  kill() {
    for (const child of this.#children) child.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Empties the simulator's ledger, so that looking into it stays cheap. */
  async forget() {
    await fetch(`${this.simulator}/ledger`, { method: "DELETE" });
  }
}

// Child is a process of ours, and what it has written so far.
class Child {
  text = "";

  constructor(process, name) {
    this.process = process;
    this.name = name;
    this.gone = new Promise((resolve) => process.on("close", resolve));
    for (const stream of [process.stdout, process.stderr]) stream.on("data", (data) => (this.text += data));
  }

  /** The first group of a pattern, once it has been written. */
  async says(pattern) {
    const end = Date.now() + patience;
    for (;;) {
      const found = pattern.exec(this.text);
      if (found) return found[1];
      if (Date.now() > end || this.process.exitCode !== null) throw new Error(`${this.name} did not say ${pattern}:\n${this.text}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async stop() {
    this.process.kill("SIGTERM");
    const timer = setTimeout(() => this.kill(), patience);
    await this.gone;
    clearTimeout(timer);
  }

  kill() {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill("SIGKILL");
  }
}

// run runs a command to its end; its result is what the command wrote to stdout.
async function run(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args[0]} ended with ${code}:\n${err}`);
  return out;
}

// configuration is a weir.yaml with every provider twice: the second one is for
// refusals after which a key rests. Scripted ones are hasty where their first byte is to be late.
function configuration(simulator, script, searched) {
  const lines = ["providers:"];
  for (const [dialect, prefix] of Object.entries(prefixes)) {
    for (const name of [dialect, busy(dialect)]) {
      lines.push(`  ${name}: {dialect: ${dialect}, base_url: "${simulator}${prefix}", allow_private: true, api_keys: [sk-any], retries: 0, bills_after_disconnect: "no"}`);
    }
  }
  for (const dialect of scripted) {
    for (const [kind, seconds] of Object.entries({ 0: 60, 429: 60, 504: 1 })) {
      lines.push(`  ${scriptedAs(dialect, kind)}: {dialect: ${dialect}, base_url: "${script}${prefixes[dialect]}", allow_private: true, api_keys: [sk-any], retries: 0, timeouts: {first_byte: ${seconds}s}}`);
    }
  }
  for (const { id, dialect, prefix } of vendors) lines.push(`  ${id}: {dialect: ${dialect}, base_url: "${searched}/${id}${prefix}", allow_private: true, api_keys: [sk-any], retries: 0}`);
  lines.push("prices:");
  for (const dialect of scripted) {
    for (const script of [0, 429, 504]) lines.push(`  ${scriptedAs(dialect, script)}/*: {input: "${price.input}", output: "${price.output}"}`);
  }
  for (const dialect of providers) lines.push(`  ${dialect}/*: {input: "${price.input}", output: "${price.output}"}`);
  lines.push("aliases:");
  for (const dialect of scripted) for (const script of scriptNames) lines.push(`  ${scriptedAlias(dialect, script)}: {targets: ["${scriptedAs(dialect, script)}/${script}-alias"]}`);
  for (const vendor of vendors) lines.push(`  ${searchedAlias(vendor)}: {targets: ["${vendor.id}/${vendor.model}"]}`);
  return lines.join("\n") + "\n";
}
