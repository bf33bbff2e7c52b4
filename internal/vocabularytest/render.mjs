// What servers make of a request before they count it: the published templates, and for those that cannot be had as
// packages what they and the servers' JSON do to tools, calls and results, with little around.
import { Template } from "@huggingface/jinja";

import { members, styles, write } from "./json.mjs";

// bare is a request without its texts: one message, and a tool and a call where it has any.
export function bare(body) {
  const tool = { type: "function", function: { name: "f", parameters: {} } };
  return { messages: [{ role: "user", content: "" }], ...(body.tools && { tools: [tool] }) };
}

// parsed is a request as vLLM hands it to a template: arguments are objects.
function parsed(body) {
  const copy = structuredClone(body);
  for (const m of copy.messages) {
    for (const call of m.tool_calls ?? []) call.function.arguments = JSON.parse(call.function.arguments);
  }
  return copy;
}

// template is what a vocabulary's own template makes of a request.
const template = (v) => ({
  name: "template",
  of: (other) => other === v,
  text: (body) => new Template(v.template).render({ ...parsed(body), bos_token: "<s>", eos_token: "</s>", add_generation_prompt: true }),
});

// mark stands for a token of a vocabulary's own in a mark.
const mark = "|";

// marked is a call with each argument between marks, as Qwen3 Coder, GLM, MiniMax and DeepSeek V3.2 have it.
const marked = (call) =>
  `<${mark}invoke name="${call.name}">\n` +
  members(call.arguments).map(([name, value]) => `<${mark}parameter name="${name}" string="${value[0] === '"'}">${value[0] === '"' ? JSON.parse(value) : write(value, styles.python)}</${mark}parameter>\n`).join("") +
  `</${mark}invoke>\n`;

const object = (style) => (call) => `{"name": ${JSON.stringify(call.name)}, "arguments": ${write(call.arguments, style)}}`;

// other vocabularies part JSON as these do.
const alike = ["deepseek_v3", "cl100k_base"];

// plain renders messages one behind the other.
const plain = (name, { tools, call, result = (s) => s }) => ({
  name,
  of: (v) => !alike.includes(v.name),
  text: (body) =>
    (body.tools ?? []).map((t) => write(JSON.stringify(t), tools) + "\n\n").join("") +
    body.messages
      .map((m) => `#${m.role}\n${m.role === "tool" ? result(m.content) : (m.content ?? "")}${(m.tool_calls ?? []).map((c) => call(c.function)).join("\n")}\n`)
      .join("") +
    "#assistant\n",
});

export const renderings = (vocabularies) => [
  ...vocabularies.filter((v) => v.template).map(template),
  plain("lines", { tools: styles.lines, call: object(styles.python) }), // Llama 3.1
  plain("jinja", { tools: styles.jinja, call: object(styles.jinja), result: styles.jinja.string }),
  plain("repr", { tools: styles.repr, call: object(styles.repr) }),
  plain("go", { tools: styles.go, call: object(styles.go) }), // Ollama
  plain("marks", { tools: styles.python, call: marked, result: styles.python.string }),
];
