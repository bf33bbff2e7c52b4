// Programs and ports that the suites of this folder use.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { endAll, start } from "../agents/process.mjs";

export const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "..", "..");

export function run(command, args, options) {
  const done = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error(`${command} ${args.join(" ")}: exit code ${done.status}`);
}

/** Builds a program of the module, or of one that it requires, in a folder. */
export function build(home, name, of) {
  const program = join(home, name);
  run("go", ["build", "-o", program, of], { cwd: root });
  return program;
}

/** Returns a port that is free. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts the official everything-server for Go. */
export const everything = (home, port) =>
  start(build(home, "everything", "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"), ["-http", `127.0.0.1:${port}`], { cwd: home });

/** Ends this process with the exit code of a suite, without its programs and its folder. */
export async function finish(home, suite) {
  let code = 1;
  try {
    code = await suite();
  } catch (error) {
    console.error(error);
  } finally {
    endAll();
    rmSync(home, { recursive: true, force: true });
  }
  process.exit(code);
}
