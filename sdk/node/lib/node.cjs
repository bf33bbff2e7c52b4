// The Node that the SDKs take: this one, or, where the system's is older, as Debian 13's is, the one of the package in
// runtime/, which is installed then alone.
const { spawnSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const { join } = require("node:path");

const needed = 22; // of openai 7, @google/genai 3, ai 7 and @langchain/openai 1.6

function run(command, args, options) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit", ...options });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

function node() {
  if (parseInt(process.versions.node, 10) >= needed) return process.execPath;
  const cwd = join(__dirname, "..", "runtime");
  const name = `node-${process.platform}-${process.arch}`;
  const wanted = require(join(cwd, "package.json")).optionalDependencies[name];
  if (!wanted) throw new Error(`The SDKs need Node ${needed} or newer; this is ${process.versions.node}.`);
  const place = join(cwd, "node_modules", name);
  const there = join(place, "package.json");
  if (!existsSync(there) || require(there).version !== wanted) run("npm", ["ci", "--no-progress", "--loglevel=error"], { cwd });
  return join(place, "bin", "node");
}

module.exports = { node, run };
