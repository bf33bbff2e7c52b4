// Runs the Inspector of the Model Context Protocol, as a command, against a gateway with three public servers behind it:
// the official everything-server for Node and that for Go, and Context7. Needs npm and its registry.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { end, says, start } from "../agents/process.mjs";
import { build, everything, finish, freePort } from "./programs.mjs";

const packages = {
  inspector: "@modelcontextprotocol/inspector@0.17.2",
  everything: "@modelcontextprotocol/server-everything@2026.8.31",
  context7: "@upstash/context7-mcp@4.1.1",
};
const home = mkdtempSync(join(tmpdir(), "weir-mcp-clients-"));
const env = { ...process.env, PATH: `${join(process.execPath, "..")}:${process.env.PATH}` };

/** Runs a program of a package. */
const exec = (name, args, more) =>
  start("npm", ["exec", "--yes", `--package=${packages[name]}`, "--", ...args], { cwd: home, env: { ...env, ...more } });

async function main() {
  const [a, b, c] = [await freePort(), await freePort(), await freePort()];
  const servers = [
    [exec("everything", ["mcp-server-everything", "streamableHttp"], { PORT: String(a) }), /(listening on port)/i],
    [exec("context7", ["context7-mcp", "--transport", "http", "--port", String(c)]), /(running on|listening)/i],
    [everything(home, b), /(listening)/],
  ];
  for (const [child, pattern] of servers) await says(child, pattern);
  const all = `allow_private: true, tools: ["*"], prompts: ["*"], resources: ["*"]`;
  writeFileSync(join(home, "weir.yaml"), `mcp_servers:
  node: {url: "http://127.0.0.1:${a}/mcp", ${all}}
  go: {url: "http://127.0.0.1:${b}/", ${all}}
  context7: {url: "http://127.0.0.1:${c}/mcp", ${all}}
`);
  const program = build(home, "weir", "./cmd/weir");
  const options = { cwd: home, env: { HOME: home, PATH: process.env.PATH } };
  const url = await says(start(program, ["serve", "--listen", "127.0.0.1:0"], options), /^listening on (http:\/\/[0-9.:]+)$/m);
  const made = start(program, ["keys", "create", "--account", "default", "--label", "clients", "--permission", "tools"], options);
  await made.gone;
  const key = /wk_[0-9A-Za-z]{46}/.exec(made.text)[0];
  let wrong = 0;
  for (const [what, args, want] of [
    ["lists tools", ["tools/list"], /"node__echo"[^]*"context7__|"context7__[^]*"node__echo"/],
    ["calls a tool", ["tools/call", "--tool-name", "node__echo", "--tool-arg", "message=hi"], /Echo: hi/],
    ["lists prompts", ["prompts/list"], /"go__test_simple_prompt"/],
    ["gets a prompt", ["prompts/get", "--prompt-name", "go__test_simple_prompt"], /simple prompt for testing/],
    ["lists resources", ["resources/list"], /test:\/\/static-text/],
    ["reads a resource", ["resources/read", "--uri", "test://static-text"], /static text resource/],
  ]) {
    const child = exec("inspector", ["mcp-inspector", "--cli", `${url}/mcp`, "--transport", "http", "--header", `Authorization: Bearer ${key}`, "--method", ...args]);
    await child.gone;
    const ok = want.test(child.text);
    console.log(`${what}: ${ok ? "works" : `fails\n${child.text.slice(0, 2000)}`}`);
    wrong += ok ? 0 : 1;
    end(child);
  }
  return wrong === 0 ? 0 : 1;
}

await finish(home, main);
