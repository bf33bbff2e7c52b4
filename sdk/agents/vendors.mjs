// The vendors whose models agents run on, in the order of the table's columns. Each is a provider of the gateway's
// catalogue: its name there, a model that the embedded data knows, and where its API begins at the simulator. lacks is why
// of picture and PDF it takes something not.
export const vendors = [
  { name: "openai", title: "OpenAI", model: "gpt-5.5", path: "/v1" },
  { name: "anthropic", title: "Anthropic", model: "claude-opus-5-5", path: "/v1" },
  { name: "gemini", title: "Gemini", model: "gemini-3.8-flash", path: "/v1beta" },
  { name: "deepseek", title: "DeepSeek", model: "deepseek-v4-flash", path: "/v1", lacks: { PDF: "DeepSeek takes no documents: no PDF is asked for." } },
  { name: "mistral", title: "Mistral", model: "mistral-medium-latest", path: "/v1" },
  { name: "bedrock", title: "Bedrock", model: "global.anthropic.claude-opus-5-5", path: "" },
  { name: "openrouter", title: "OpenRouter", model: "anthropic/claude-opus-5.5", path: "/v1" },
];

/** The vendor whose model a conversation goes on with for a while: the next that takes what it has in it. */
export function after(vendor) {
  const able = vendors.filter((v) => v === vendor || !v.lacks);
  return able[(able.indexOf(vendor) + 1) % able.length];
}
