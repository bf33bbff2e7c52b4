// Agents that call a tool through the gateway: each has its tools from /mcp, and a scripted model that calls one of them and
// says that it is done when it has the result.
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";

import { agents } from "../agents/agents.mjs";
import { formats } from "../agents/formats.mjs";
import { end, start } from "../agents/process.mjs";
import { vendors } from "../agents/vendors.mjs";

const model = "script"; // an alias
const vendor = vendors.find((v) => v.name === "anthropic");
const format = formats.find((f) => f.path.test("/messages"));
const patience = 180_000; // ms for one agent
const servers = ["node", "process"]; // by HTTP, and one that the gateway runs

/** The provider and the aliases of a gateway whose models are scripted. */
export const scripted = (url) => `providers:
  anthropic: {base_url: "${url}", allow_private: true, api_keys: [sk-any], retries: 0}
aliases:
  ${model}: {targets: [anthropic/${vendor.model}]}
  "claude-*": {targets: [anthropic/${vendor.model}]}
  "gemini-*": {targets: [anthropic/${vendor.model}]}
`;

/** Starts the provider. Words has the agents' words that a tool has repeated. */
export async function script() {
  const words = new Set();
  const answer = ({ all, tools }) => {
    const word = /agent-[a-z-]+-word/.exec(all)?.[0];
    for (const server of servers) {
      const tool = tools.find((t) => t.name.endsWith(`${server}__echo`));
      if (!word || !tool) return { text: `There is no tool to call among ${tools.map((t) => t.name).join(", ")}` };
      const message = `${word} ${server}`;
      if (!all.includes(`Echo: ${message}`)) return { calls: [{ name: tool.name, args: { message } }] };
    }
    words.add(word);
    return { text: `DONE with ${word}` };
  };
  let n = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const data of request) text += data;
    const body = JSON.parse(text);
    const said = { input: 1000, calls: [], ...answer(format.read(body)) };
    response.writeHead(200, { "content-type": body.stream ? "text/event-stream" : "application/json" });
    response.end(body.stream ? format.stream(said, ++n, vendor) : JSON.stringify(format.whole(said, ++n, vendor)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, words };
}

const put = (path, text) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof text === "string" ? text : JSON.stringify(text));
};
const headers = (x) => ({ Authorization: `Bearer ${x.key}` });
const bin = (x, name) => join(x.at, "node_modules", ".bin", name);

// How each learns of the gateway's tools, and is started.
const ways = {
  "Claude Code": (x) => {
    put(join(x.work, "mcp.json"), { mcpServers: { gateway: { type: "http", url: `${x.url}/mcp`, headers: headers(x) } } });
    return [bin(x, "claude"), ["-p", x.prompt, "--mcp-config", join(x.work, "mcp.json"), "--strict-mcp-config", "--allowedTools", ...servers.map((s) => `mcp__gateway__${s}__echo`)]];
  },
  Codex: (x) => {
    put(join(x.home, ".codex", "config.toml"), [
      `model = "${model}"`, 'model_provider = "weir"', 'web_search = "disabled"', "",
      "[model_providers.weir]", 'name = "Weir"', `base_url = "${x.url}/v1"`, 'env_key = "WEIR_KEY"', "",
      "[mcp_servers.gateway]", `url = "${x.url}/mcp"`, 'bearer_token_env_var = "WEIR_KEY"', "",
    ].join("\n"));
    return [bin(x, "codex"), ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", x.prompt]];
  },
  opencode: (x) => {
    put(join(x.work, "opencode.json"), {
      autoupdate: false, share: "disabled", permission: "allow", model: `weir/${model}`, small_model: `weir/${model}`,
      provider: { weir: { npm: "@ai-sdk/openai-compatible", options: { baseURL: `${x.url}/v1`, apiKey: x.key }, models: { [model]: { name: "Script", tool_call: true } } } },
      mcp: { gateway: { type: "remote", url: `${x.url}/mcp`, headers: headers(x), oauth: false } },
    });
    return [bin(x, "opencode"), ["run", x.prompt]];
  },
  "Gemini CLI": (x) => {
    put(join(x.home, ".gemini", "settings.json"), {
      security: { auth: { selectedType: "gemini-api-key" } }, privacy: { usageStatisticsEnabled: false },
      mcpServers: { gateway: { httpUrl: `${x.url}/mcp`, headers: headers(x), trust: true } },
    });
    return [bin(x, "gemini"), ["-m", x.model, "--approval-mode", "yolo", "-p", x.prompt]];
  },
  "Qwen Code": (x) => {
    put(join(x.home, ".qwen", "settings.json"), {
      security: { auth: { selectedType: "openai" } }, privacy: { usageStatisticsEnabled: false },
      tools: { toolSearch: { enabled: false } }, // else it offers a search in place of the tools
      mcpServers: { gateway: { httpUrl: `${x.url}/mcp`, headers: headers(x), trust: true } },
    });
    return [bin(x, "qwen"), ["--approval-mode", "yolo", "-p", x.prompt]];
  },
  "GitHub Copilot CLI": (x) => {
    put(join(x.home, ".copilot", "mcp-config.json"), { mcpServers: { gateway: { type: "http", url: `${x.url}/mcp`, headers: headers(x), tools: ["*"] } } });
    return [bin(x, "copilot"), ["-p", x.prompt, "--allow-all-tools", "--allow-all-paths"]];
  },
};

// Claude Code otherwise looks for tools by a tool of its own, which this model does not call.
const env = { "Claude Code": { ENABLE_TOOL_SEARCH: "false" } };

export const names = Object.keys(ways);

/** Runs an agent, and returns why it fails; nothing if it works. */
export async function calls(name, { home, url, key, words }) {
  const agent = agents.find((a) => a.name === name);
  const id = name.toLowerCase().replaceAll(" ", "-");
  const own = join(home, id);
  const x = { url, key, model, home: own, work: join(own, "work"), at: join(own, "packages"), prompt: `Repeat the word agent-${id}-word with the tool echo.` };
  for (const folder of [x.work, x.at]) mkdirSync(folder, { recursive: true });
  put(join(x.at, "package.json"), { private: true });
  const npm = start("npm", ["install", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error", ...agent.packages], { cwd: x.at, env: process.env });
  if ((await npm.gone) !== 0) return npm.text;
  const [command, args] = ways[name](x);
  const child = start(command, args, {
    cwd: x.work,
    env: { HOME: own, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, TERM: "dumb", CI: "1", NO_COLOR: "1", LANG: "C.UTF-8", ...agent.env(x), ...env[name] },
  });
  const late = setTimeout(() => end(child), patience);
  const code = await child.gone;
  clearTimeout(late);
  const word = `agent-${id}-word`;
  return code === 0 && words.has(word) && child.text.includes(`DONE with ${word}`) ? "" : `it ended with ${code}: ${child.text.slice(-3000)}`;
}
