// The wire formats in which the scripted provider reads requests and writes answers. An answer has a text or calls, in
// front of the calls a thought with its signature, and the number of tokens that its input is said to have had; n is the
// number of the request. thinks says whether a model of the vendor shows its thinking to such a request.
import { crc32 } from "node:zlib";

const data = (...objects) => objects.map((o) => `data: ${JSON.stringify(o)}\n\n`).join("");
const events = (...objects) => objects.map((o) => `event: ${o.type}\ndata: ${JSON.stringify(o)}\n\n`).join("");
const textOf = (content) => (typeof content === "string" ? content : JSON.stringify(content ?? ""));
const streams = (_, body) => body.stream === true;

const openaiCalls = (a, n) =>
  a.calls.map((c, index) => ({ index, id: `call_${n}_${index}`, type: "function", function: { name: c.name, arguments: JSON.stringify(c.args) } }));
const openaiUsage = (a) => ({ prompt_tokens: a.input, completion_tokens: 20, total_tokens: a.input + 20 });
// Thinking has no place of its own in OpenAI's format: each vendor has another.
const openaiThought = (a, vendor) => {
  if (!a.thought) return {};
  if (vendor.name === "deepseek") return { reasoning_content: a.thought.text };
  return { reasoning: a.thought.text, reasoning_details: [{ type: "reasoning.text", text: a.thought.text, signature: a.thought.signature, format: "anthropic-claude-v1", index: 0 }] };
};
const openai = {
  inBody: true, streams, path: /\/chat\/completions$/,
  thinks: (_, vendor) => ["deepseek", "openrouter"].includes(vendor.name),
  read: (body) => ({
    all: JSON.stringify(body.messages),
    last: textOf(body.messages.at(-1).content),
    ids: body.messages.flatMap((m) => (m.tool_calls ?? []).map((c) => c.id)),
    tools: (body.tools ?? []).filter((t) => t.function).map((t) => ({ name: t.function.name, schema: t.function.parameters })),
    wantsJSON: Boolean(body.response_format),
  }),
  whole: (a, n, vendor) => ({
    id: `chatcmpl-${n}`, object: "chat.completion", created: 1790000000, model: "m", usage: openaiUsage(a),
    choices: [{
      index: 0, finish_reason: a.calls.length ? "tool_calls" : "stop",
      message: { role: "assistant", content: a.text ?? null, ...openaiThought(a, vendor), ...(a.calls.length && { tool_calls: openaiCalls(a, n) }) },
    }],
  }),
  stream(a, n, vendor) {
    const chunk = (delta, finish_reason = null) => ({
      id: `chatcmpl-${n}`, object: "chat.completion.chunk", created: 1790000000, model: "m", choices: [{ index: 0, delta, finish_reason }],
    });
    const pieces = a.calls.length ? openaiCalls(a, n).map((c) => chunk({ tool_calls: [c] })) : [chunk({ content: a.text })];
    if (a.thought) pieces.unshift(chunk(openaiThought(a, vendor)));
    const end = [chunk({}, a.calls.length ? "tool_calls" : "stop"), { ...chunk({}), choices: [], usage: openaiUsage(a) }];
    return data(chunk({ role: "assistant", content: "" }), ...pieces, ...end) + "data: [DONE]\n\n";
  },
};

const responses = {
  inBody: true, streams, path: /\/responses$/,
  thinks: (body) => body.include?.includes("reasoning.encrypted_content"),
  read(body) {
    const items = typeof body.input === "string" ? [{ content: body.input }] : body.input;
    const tools = [...(body.tools ?? []), ...items.filter((i) => i.type === "additional_tools").flatMap((i) => i.tools)];
    return {
      all: JSON.stringify(items),
      last: textOf(items.at(-1).content ?? items.at(-1).output ?? items.at(-1).type),
      ids: items.filter((i) => i.type === "function_call").map((i) => i.call_id),
      tools: tools.flatMap((t) => (t.type === "namespace" ? t.tools : [t])).filter((t) => t.type === "function").map((t) => ({ name: t.name, schema: t.parameters })),
      wantsJSON: body.text?.format?.type === "json_schema",
    };
  },
  whole: (a, n) => ({
    id: `resp_${n}`, object: "response", created_at: 1790000000, status: "completed", model: "m", error: null, incomplete_details: null, instructions: null,
    metadata: {}, parallel_tool_calls: true, temperature: 1, top_p: 1, tool_choice: "auto", tools: [], output: responsesItems(a, n),
    usage: { input_tokens: a.input, output_tokens: 20, total_tokens: a.input + 20, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  }),
  stream(a, n) {
    const whole = responses.whole(a, n);
    const list = [{ type: "response.created", response: { ...whole, status: "in_progress", output: [], usage: null } }];
    whole.output.forEach((item, output_index) => {
      const begun = item.type === "reasoning" ? { ...item, encrypted_content: "" } : { ...item, status: "in_progress", ...(item.arguments ? { arguments: "" } : { content: [] }) };
      list.push({ type: "response.output_item.added", output_index, item: begun });
      const at = { item_id: item.id, output_index };
      if (item.arguments) {
        list.push({ type: "response.function_call_arguments.delta", ...at, delta: item.arguments }, { type: "response.function_call_arguments.done", ...at, arguments: item.arguments });
      } else if (item.content) {
        const [part] = item.content;
        list.push({ type: "response.content_part.added", ...at, content_index: 0, part: { ...part, text: "" } });
        list.push({ type: "response.output_text.delta", ...at, content_index: 0, delta: part.text, logprobs: [] });
        list.push({ type: "response.output_text.done", ...at, content_index: 0, text: part.text, logprobs: [] });
        list.push({ type: "response.content_part.done", ...at, content_index: 0, part });
      }
      list.push({ type: "response.output_item.done", output_index, item });
    });
    list.push({ type: "response.completed", response: whole });
    return events(...list.map((e, sequence_number) => ({ ...e, sequence_number })));
  },
};
const responsesItems = (a, n) => {
  if (!a.calls.length) return [{ type: "message", id: `msg_${n}`, role: "assistant", status: "completed", content: [{ type: "output_text", text: a.text, annotations: [] }] }];
  const calls = a.calls.map((c, i) => ({ type: "function_call", id: `fc_${n}_${i}`, call_id: `call_${n}_${i}`, name: c.name, arguments: JSON.stringify(c.args), status: "completed" }));
  return a.thought ? [{ type: "reasoning", id: `rs_${n}`, summary: [], encrypted_content: a.thought.signature }, ...calls] : calls;
};

const anthropic = {
  inBody: true, streams, path: /\/messages$/, signs: true,
  thinks: (body) => ["enabled", "adaptive"].includes(body.thinking?.type),
  read: (body) => ({
    all: JSON.stringify(body.messages),
    last: textOf(body.messages.at(-1).content),
    ids: body.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : []).filter((b) => b.type === "tool_use").map((b) => b.id)),
    tools: (body.tools ?? []).map((t) => ({ name: t.name, schema: t.input_schema })),
    wantsJSON: Boolean(body.output_config?.format),
  }),
  whole: (a, n) => ({
    id: `msg_${n}`, type: "message", role: "assistant", model: "m", stop_reason: a.calls.length ? "tool_use" : "end_turn", stop_sequence: null,
    content: [
      ...(a.thought ? [{ type: "thinking", thinking: a.thought.text, signature: a.thought.signature }] : []),
      ...(a.calls.length ? a.calls.map((c, i) => ({ type: "tool_use", id: `toolu_${n}_${i}`, name: c.name, input: c.args })) : [{ type: "text", text: a.text }]),
    ],
    usage: { input_tokens: a.input, output_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  }),
  stream(a, n) {
    const { content, stop_reason, ...message } = anthropic.whole(a, n);
    const empty = { text: { text: "" }, thinking: { thinking: "", signature: "" }, tool_use: { input: {} } };
    const deltas = {
      text: (b) => [{ type: "text_delta", text: b.text }],
      thinking: (b) => [{ type: "thinking_delta", thinking: b.thinking }, { type: "signature_delta", signature: b.signature }],
      tool_use: (b) => [{ type: "input_json_delta", partial_json: JSON.stringify(b.input) }],
    };
    const blocks = content.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: { ...block, ...empty[block.type] } },
      ...deltas[block.type](block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]);
    return events(
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      ...blocks,
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } },
      { type: "message_stop" },
    );
  },
};

// Gemini gives its calls no ids, and signs the first of them.
const gemini = {
  path: /:(stream)?[gG]enerateContent/,
  streams: (path) => path.includes(":stream"),
  thinks: () => true,
  read: (body) => ({
    all: JSON.stringify(body.contents),
    last: textOf(body.contents.at(-1).parts),
    ids: [],
    tools: (body.tools ?? []).flatMap((t) => t.functionDeclarations ?? []).map((t) => ({ name: t.name, schema: t.parametersJsonSchema ?? lower(t.parameters) })),
    wantsJSON: body.generationConfig?.responseMimeType === "application/json",
  }),
  whole: (a) => ({
    candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: geminiParts(a) } }],
    usageMetadata: { promptTokenCount: a.input, candidatesTokenCount: 20, totalTokenCount: a.input + 20 },
    modelVersion: "m",
  }),
  stream: (a) => data(gemini.whole(a)),
};
const geminiParts = (a) =>
  a.calls.length
    ? a.calls.map((c, i) => ({ functionCall: { name: c.name, args: c.args }, ...(a.thought && i === 0 && { thoughtSignature: a.thought.signature }) }))
    : [{ text: a.text }];
// Google's own schemas have their types in capitals.
const lower = (schema) => schema && JSON.parse(JSON.stringify(schema, (key, v) => (key === "type" && typeof v === "string" ? v.toLowerCase() : v)));

const bedrock = {
  path: /\/converse(-stream)?$/, signs: true, type: "application/vnd.amazon.eventstream",
  streams: (path) => path.endsWith("-stream"),
  thinks: (body) => ["enabled", "adaptive"].includes(body.additionalModelRequestFields?.thinking?.type),
  read: (body) => ({
    all: JSON.stringify(body.messages),
    last: textOf(body.messages.at(-1).content),
    ids: body.messages.flatMap((m) => m.content.flatMap((b) => b.toolUse?.toolUseId ?? [])),
    tools: (body.toolConfig?.tools ?? []).flatMap((t) => t.toolSpec ?? []).map((t) => ({ name: t.name, schema: t.inputSchema.json })),
    wantsJSON: Boolean(body.outputConfig?.textFormat),
  }),
  whole: (a, n) => ({
    output: { message: { role: "assistant", content: bedrockContent(a, n) } },
    stopReason: a.calls.length ? "tool_use" : "end_turn", usage: bedrockUsage(a), metrics: { latencyMs: 1 },
  }),
  stream(a, n) {
    const deltas = {
      text: (b) => [{ text: b.text }],
      reasoningContent: ({ reasoningContent: { reasoningText: t } }) => [{ reasoningContent: { text: t.text } }, { reasoningContent: { signature: t.signature } }],
      toolUse: (b) => [{ toolUse: { input: JSON.stringify(b.toolUse.input) } }],
    };
    const blocks = bedrockContent(a, n).flatMap((block, contentBlockIndex) => [
      ...(block.toolUse ? [frame("contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId: block.toolUse.toolUseId, name: block.toolUse.name } } })] : []),
      ...deltas[Object.keys(block)[0]](block).map((delta) => frame("contentBlockDelta", { contentBlockIndex, delta })),
      frame("contentBlockStop", { contentBlockIndex }),
    ]);
    const end = [frame("messageStop", { stopReason: a.calls.length ? "tool_use" : "end_turn" }), frame("metadata", { usage: bedrockUsage(a), metrics: { latencyMs: 1 } })];
    return Buffer.concat([frame("messageStart", { role: "assistant" }), ...blocks, ...end]);
  },
};
const bedrockUsage = (a) => ({ inputTokens: a.input, outputTokens: 20, totalTokens: a.input + 20 });
const bedrockContent = (a, n) => [
  ...(a.thought ? [{ reasoningContent: { reasoningText: { text: a.thought.text, signature: a.thought.signature } } }] : []),
  ...(a.calls.length ? a.calls.map((c, i) => ({ toolUse: { toolUseId: `tooluse_${n}_${i}`, name: c.name, input: c.args } })) : [{ text: a.text }]),
];
// A message of AWS' event stream: lengths and checksums around headers and payload
// (https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html, "Event stream encoding").
function frame(event, payload) {
  const header = (name, value) => Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7, value.length >> 8, value.length & 255]), Buffer.from(value)]);
  const headers = Buffer.concat([header(":event-type", event), header(":content-type", "application/json"), header(":message-type", "event")]);
  const body = Buffer.from(JSON.stringify(payload));
  const number = (n) => {
    const b = Buffer.alloc(4);
    b.writeUInt32BE(n >>> 0);
    return b;
  };
  const lengths = Buffer.concat([number(16 + headers.length + body.length), number(headers.length)]);
  const message = Buffer.concat([lengths, number(crc32(lengths)), headers, body]);
  return Buffer.concat([message, number(crc32(message))]);
}

export const formats = [openai, responses, anthropic, gemini, bedrock];
