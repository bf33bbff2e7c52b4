// The agents: which packages and versions, and how each is started without asking anybody. x has the gateway's address
// (url), a key, the model, the task (prompt), the folder with the files (work), the package's (home of its modules,
// at) and a home folder of its own (home). full is how many tokens a full context is said to have, reads what its tool
// for files reads beside texts, and lacks why of picture, PDF and compaction something cannot be had of it. tls is that it
// gets an address over TLS (cert is the certificate's file), sockets that it opens a WebSocket and sends nothing else. again is how
// one goes on that compacts between two prompts alone, not while a vendor is asked.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const put = async (path, text) => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, typeof text === "string" ? text : JSON.stringify(text));
};
const bin = (x, name) => join(x.at, "node_modules", ".bin", name);
// A program of ours, which stands among the package's modules.
const driver = (name) => (x) => [process.execPath, [join(x.at, `${name}.mjs`)]];

const claudeEnv = (x) => ({
  ANTHROPIC_BASE_URL: x.url, ANTHROPIC_AUTH_TOKEN: x.key, ANTHROPIC_MODEL: x.model, ANTHROPIC_DEFAULT_HAIKU_MODEL: x.model,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1",
});

const noPictures = "Of a model that it does not know, its tool for files shows no picture, and a PDF as text.";
const library = "A library: what a compaction leaves out is its program's business.";

export const agents = [
  {
    name: "Claude Code", version: "2.1.332", api: "Messages", packages: ["@anthropic-ai/claude-code@2.1.332"], alias: "claude-*", full: 980_000, reads: ["picture", "PDF"],
    command: (x) => [bin(x, "claude"), ["-p", x.prompt, "--allowedTools", "Read", "--add-dir", x.work]],
    env: claudeEnv,
  },
  {
    name: "Claude Agent SDK", version: "0.3.332", api: "Messages", packages: ["@anthropic-ai/claude-agent-sdk@0.3.332"], alias: "claude-*", full: 980_000, reads: ["picture", "PDF"],
    driver: "claude-agent-sdk",
    command: driver("claude-agent-sdk"), env: claudeEnv,
  },
  {
    name: "Codex", version: "0.171.0", api: "Responses", packages: ["@openai/codex@0.171.0"], full: 150_000,
    lacks: { PDF: "It takes pictures alone (`-i`), and has no tool that reads a PDF." },
    prepare: (x) =>
      put(join(x.home, ".codex", "config.toml"), [
        `model = "${x.model}"`, 'model_provider = "weir"', 'web_search = "disabled"', "model_auto_compact_token_limit = 100000", "",
        "[model_providers.weir]", 'name = "Weir"', `base_url = "${x.url}/v1"`, 'env_key = "WEIR_KEY"', "", "[agents]", "enabled = false", "",
      ].join("\n")),
    command: (x) => [bin(x, "codex"), ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", x.prompt, "-i", x.picture]],
    env: (x) => ({ WEIR_KEY: x.key, CODEX_HOME: join(x.home, ".codex") }),
  },
  {
    name: "Codex, WebSocket", version: "0.171.0", api: "Responses", packages: ["@openai/codex@0.171.0"], tls: true, sockets: true,
    lacks: {
      PDF: "It takes pictures alone (`-i`), and has no tool that reads a PDF.",
      compaction: "With `openai_base_url` it has OpenAI shorten the conversation, which the gateway refuses for providers without the Responses API.",
    },
    prepare: (x) =>
      put(join(x.home, ".codex", "config.toml"), [
        `model = "${x.model}"`, `openai_base_url = "${x.url}/v1"`, 'web_search = "disabled"', "", "[agents]", "enabled = false", "",
      ].join("\n")),
    command: (x) => [bin(x, "codex"), ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", x.prompt, "-i", x.picture]],
    env: (x) => ({ CODEX_API_KEY: x.key, CODEX_HOME: join(x.home, ".codex"), SSL_CERT_FILE: x.cert, CODEX_CA_CERTIFICATE: x.cert }),
  },
  {
    name: "Gemini CLI", version: "0.61.0", api: "Gemini", packages: ["@google/gemini-cli@0.61.0"], alias: "gemini-*", full: 900_000, reads: ["picture", "PDF"],
    prepare: (x) => put(join(x.home, ".gemini", "settings.json"), { security: { auth: { selectedType: "gemini-api-key" } }, privacy: { usageStatisticsEnabled: false }, model: { compressionThreshold: 0.001 } }),
    command: (x) => [bin(x, "gemini"), ["-m", x.model, "--approval-mode", "yolo", "-p", x.prompt]],
    // What it resumes has every result twice, which Google refuses.
    again: { not: "gemini", command: (x) => [bin(x, "gemini"), ["-m", x.model, "--approval-mode", "yolo", "--resume", "latest", "-p", "Go on."]] },
    env: (x) => ({ GOOGLE_GEMINI_BASE_URL: x.url, GEMINI_API_KEY: x.key, GEMINI_CLI_TRUST_WORKSPACE: "true" }),
  },
  {
    name: "opencode", version: "1.18.33", api: "Chat Completions", packages: ["opencode-ai@1.18.33"], full: 150_000, reads: ["picture", "PDF"],
    prepare: (x) =>
      put(join(x.work, "opencode.json"), {
        autoupdate: false, share: "disabled", permission: "allow", model: `weir/${x.model}`, small_model: `weir/${x.model}`,
        provider: {
          weir: {
            npm: "@ai-sdk/openai-compatible", options: { baseURL: `${x.url}/v1`, apiKey: x.key },
            models: { [x.model]: { name: "Script", tool_call: true, attachment: true, modalities: { input: ["text", "image", "pdf"], output: ["text"] }, limit: { context: 100_000, output: 8000 } } },
          },
        },
      }),
    command: (x) => [bin(x, "opencode"), ["run", x.prompt]],
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: "1" }),
  },
  {
    name: "Qwen Code", version: "0.24.4", api: "Chat Completions", packages: ["@qwen-code/qwen-code@0.24.4"], full: 170_000, reads: ["picture", "PDF"],
    prepare: (x) =>
      put(join(x.home, ".qwen", "settings.json"), {
        security: { auth: { selectedType: "openai" } }, privacy: { usageStatisticsEnabled: false },
        model: { generationConfig: { modalities: { image: true, pdf: true } } },
      }),
    command: (x) => [bin(x, "qwen"), ["--approval-mode", "yolo", "-p", x.prompt]],
    env: (x) => ({ OPENAI_BASE_URL: `${x.url}/v1`, OPENAI_API_KEY: x.key, OPENAI_MODEL: x.model }),
  },
  {
    name: "GitHub Copilot CLI", version: "1.0.102", api: "Chat Completions", packages: ["@github/copilot@1.0.102"],
    full: 150_000, lacks: { picture: noPictures, PDF: noPictures },
    command: (x) => [bin(x, "copilot"), ["-p", x.prompt, "--allow-all-tools", "--allow-all-paths"]],
    env: (x) => ({ COPILOT_PROVIDER_TYPE: "openai", COPILOT_PROVIDER_BASE_URL: `${x.url}/v1`, COPILOT_PROVIDER_API_KEY: x.key, COPILOT_MODEL: x.model }),
  },
  { name: "OpenAI Agents SDK", version: "0.20.0", api: "Responses", packages: ["@openai/agents@0.20.0", "zod@4.6.7"], driver: "openai-agents", lacks: { compaction: library }, command: driver("openai-agents") },
  {
    name: "Vercel AI SDK", version: "7.0.173", api: "Messages", packages: ["ai@7.0.173", "@ai-sdk/anthropic@4.0.105", "zod@4.6.7"],
    driver: "ai", lacks: { compaction: library }, command: driver("ai"),
  },
  {
    name: "LangChain", version: "1.5.14", api: "Chat Completions", packages: ["langchain@1.5.14", "@langchain/core@1.4.0", "@langchain/openai@1.6.0", "zod@4.6.7"],
    driver: "langchain", lacks: { compaction: library }, command: driver("langchain"),
  },
  {
    name: "Mastra", version: "1.71.0", api: "Chat Completions", packages: ["@mastra/core@1.71.0", "@ai-sdk/openai-compatible@3.0.92", "zod@4.6.7"],
    driver: "mastra", lacks: { compaction: library }, command: driver("mastra"),
  },
];
