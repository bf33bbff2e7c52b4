// Programs and ports that the suites of this folder use.
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { endAll, says, start } from "../agents/process.mjs";

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

/** Starts a gateway with a configuration, and returns its address, an API key for tools, and the address of its set-up. */
export async function gateway(program, home, yaml, port = 0) {
  writeFileSync(join(home, "weir.yaml"), yaml);
  const options = { cwd: home, env: { HOME: home, PATH: process.env.PATH } };
  const child = start(program, ["serve", "--listen", `127.0.0.1:${port}`], options);
  const url = await says(child, /^listening on (http:\/\/[0-9.:]+)$/m);
  const setup = await says(child, /^ +(http:\S+\/setup\/\S+)$/m);
  const made = start(program, ["keys", "create", "--account", "default", "--label", "suite", "--permission", "tools", "--permission", "chat"], options);
  await made.gone;
  return { url, key: /wk_[0-9A-Za-z]{46}/.exec(made.text)[0], setup };
}

const all = '["*"]';

/** The configuration of a gateway with one server, with further settings, whose tools have their own names in a bundle. */
export const plain = (url, more = "timeout: 60s") => `mcp_servers:
  everything: {url: "${url}", ${more}, allow_private: true, tools: ${all}, prompts: ${all}, resources: ${all}}
mcp_bundles:
  plain: {tools: ["*/*"], prompts: ["*/*"], resources: ["*/*"], names: plain}
`;

/**
 * Starts a proxy to that bundle, because the suite sends no keys. It keeps the suite's Host, which a scenario falsifies. An
 * older one refuses the revisions without sessions.
 */
export async function proxy({ url, key }, older) {
  const to = new URL(url);
  const server = createServer((incoming, outgoing) => {
    if (older && incoming.headers["mcp-protocol-version"] >= "2026-07-28") {
      outgoing.writeHead(400).end();
      return;
    }
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const onward = request({ host: to.hostname, port: to.port, method: incoming.method, path: "/mcp/plain", headers, setHost: false }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  return `http://127.0.0.1:${server.address().port}/`;
}

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
