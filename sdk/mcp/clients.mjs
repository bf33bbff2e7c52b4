// Runs the Inspector of the Model Context Protocol, as a command, and agents against a gateway with public servers behind it:
// the official everything-server for Node and that for Go, Context7 and Playwright's. Needs npm and its registry.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { end, says, start } from "../agents/process.mjs";
import { calls, names, script, scripted } from "./agents.mjs";
import { build, everything, finish, freePort, gateway } from "./programs.mjs";

const packages = {
  inspector: "@modelcontextprotocol/inspector@0.17.2",
  everything: "@modelcontextprotocol/server-everything@2026.8.31",
  context7: "@upstash/context7-mcp@4.1.1",
  playwright: "@playwright/mcp@0.0.83",
};
const home = mkdtempSync(join(tmpdir(), "weir-mcp-clients-"));
const env = { ...process.env, PATH: `${join(process.execPath, "..")}:${process.env.PATH}` };

/** Runs a program of a package. */
const exec = (name, args, more) =>
  start("npm", ["exec", "--yes", `--package=${packages[name]}`, "--", ...args], { cwd: home, env: { ...env, ...more } });

async function main() {
  const [a, b, c, d] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const servers = [
    [exec("everything", ["mcp-server-everything", "streamableHttp"], { PORT: String(a) }), /(listening on port)/i],
    [exec("context7", ["context7-mcp", "--transport", "http", "--port", String(c)]), /(running on|listening)/i],
    [exec("playwright", ["playwright-mcp", "--headless", "--port", String(d)]), /(listening)/i],
    [everything(home, b), /(listening)/],
  ];
  for (const [child, pattern] of servers) await says(child, pattern);
  const all = `allow_private: true, tools: ["*"], prompts: ["*"], resources: ["*"]`;
  const { url: models, words } = await script();
  const { url, key } = await gateway(build(home, "weir", "./cmd/weir"), home, `${scripted(models)}mcp_servers:
  node: {url: "http://127.0.0.1:${a}/mcp", ${all}}
  go: {url: "http://127.0.0.1:${b}/", ${all}}
  context7: {url: "http://127.0.0.1:${c}/mcp", ${all}}
  playwright: {url: "http://localhost:${d}/mcp", ${all}}
`);
  let wrong = 0;
  for (const [what, args, want] of [
    ["lists tools", ["tools/list"], /(?=[^]*"node__echo")(?=[^]*"context7__)(?=[^]*"playwright__browser_)(?=[^]*"go__)/],
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
  for (const name of names.filter((name) => !process.env.ONLY || name === process.env.ONLY)) {
    const fault = await calls(name, { home, url, key, words });
    console.log(`${name} calls a tool and uses its result: ${fault ? `fails\n${fault}` : "works"}`);
    wrong += fault ? 1 : 0;
  }
  return wrong === 0 ? 0 : 1;
}

await finish(home, main);
