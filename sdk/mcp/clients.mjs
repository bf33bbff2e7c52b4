// Runs the Inspector of the Model Context Protocol, as a command, and agents against a gateway with public servers behind it:
// the official everything-server for Node and that for Go, Context7, Playwright's, Notion's and a bridge by HTTP, and the
// official everything-server and filesystem as processes. Needs npm and its registry.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { end, says, start } from "../agents/process.mjs";
import { calls, names, script, scripted } from "./agents.mjs";
import { build, everything, finish, freePort, gateway, run } from "./programs.mjs";

const packages = {
  inspector: "@modelcontextprotocol/inspector@0.17.2",
  everything: "@modelcontextprotocol/server-everything@2026.8.31",
  context7: "@upstash/context7-mcp@4.1.1",
  playwright: "@playwright/mcp@0.0.83",
  notion: "@notionhq/notion-mcp-server@2.5.2",
  bridge: "supergateway@4.0.0",
};
// Servers that the gateway runs itself.
const own = ["everything", "filesystem", "memory"].map((name) => `@modelcontextprotocol/server-${name}@2026.8.31`);
const home = mkdtempSync(join(tmpdir(), "weir-mcp-clients-"));
const env = { ...process.env, PATH: `${join(process.execPath, "..")}:${process.env.PATH}` };

/** Runs a program of a package. */
const exec = (name, args, more) =>
  start("npm", ["exec", "--yes", `--package=${packages[name]}`, "--", ...args], { cwd: home, env: { ...env, ...more } });

/** The entries of servers that the gateway runs as processes. */
function processes() {
  const at = join(home, "servers");
  const files = join(home, "files");
  for (const folder of [at, files]) mkdirSync(folder);
  writeFileSync(join(files, "note.txt"), "a note for the gateway");
  writeFileSync(join(at, "package.json"), "{}");
  run("npm", ["install", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error", ...own], { cwd: at });
  const command = (name, ...args) => JSON.stringify([process.execPath, join(at, "node_modules", "@modelcontextprotocol", `server-${name}`, "dist", "index.js"), ...args]);
  const all = 'env: ["PATH=/usr/bin:/bin"], tools: ["*"], prompts: ["*"], resources: ["*"]';
  return `  process: {command: ${command("everything", "stdio")}, ${all}}
  files: {command: ${command("filesystem", files)}, ${all}}
`;
}

async function main() {
  const [a, b, c, d, e, f] = await Promise.all(Array.from({ length: 6 }, freePort));
  const entries = processes();
  const memory = join(home, "servers", "node_modules", ".bin", "mcp-server-memory");
  const servers = [
    [exec("everything", ["mcp-server-everything", "streamableHttp"], { PORT: String(a) }), /(listening on port)/i],
    [exec("context7", ["context7-mcp", "--transport", "http", "--port", String(c)]), /(running on|listening)/i],
    [exec("playwright", ["playwright-mcp", "--headless", "--port", String(d)]), /(listening)/i],
    [everything(home, b), /(listening)/],
    [exec("notion", ["notion-mcp-server", "--transport", "http", "--port", String(e), "--auth-token", "any"], { NOTION_TOKEN: "ntn_any" }), /(listening)/i],
    [exec("bridge", ["supergateway", "--stdio", memory, "--outputTransport", "streamableHttp", "--port", String(f)]), /(listening)/i],
  ];
  for (const [child, pattern] of servers) await says(child, pattern);
  const all = `allow_private: true, tools: ["*"], prompts: ["*"], resources: ["*"]`;
  const { url: models, words } = await script();
  const { url, key } = await gateway(build(home, "weir", "./cmd/weir"), home, `${scripted(models)}mcp_servers:
  node: {url: "http://127.0.0.1:${a}/mcp", ${all}}
  go: {url: "http://127.0.0.1:${b}/", ${all}}
  context7: {url: "http://127.0.0.1:${c}/mcp", ${all}}
  playwright: {url: "http://localhost:${d}/mcp", ${all}}
  notion: {url: "http://127.0.0.1:${e}/mcp", api_key: any, ${all}}
  bridge: {url: "http://127.0.0.1:${f}/mcp", ${all}}
${entries}`);
  let wrong = 0;
  for (const [what, args, want] of [
    ["lists tools", ["tools/list"], /(?=[^]*"node__echo")(?=[^]*"context7__)(?=[^]*"playwright__browser_)(?=[^]*"go__)(?=[^]*"notion__)(?=[^]*"bridge__read_graph")(?=[^]*"process__echo")(?=[^]*"files__read_text_file")/],
    ["calls a tool", ["tools/call", "--tool-name", "node__echo", "--tool-arg", "message=hi"], /Echo: hi/],
    ["calls a tool of a bridge", ["tools/call", "--tool-name", "bridge__read_graph"], /entities/],
    ["calls a tool of a process", ["tools/call", "--tool-name", "files__read_text_file", "--tool-arg", `path=${join(home, "files", "note.txt")}`], /a note for the gateway/],
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
