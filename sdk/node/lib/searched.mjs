// Answers that rest on pages and documents, in the words of each vendor that searches, whole and streamed: a provider
// that gives them, and what there is to read in them. Texts have letters beyond ASCII and beyond the BMP.
import { createServer } from "node:http";
import { crc32 } from "node:zlib";

const said = ["Größer 😀 ist Wien.", " Graz folgt."];
const rain = { url: "https://a.example/wien", title: "Wien – Größe" };
const sun = { url: "https://b.example/graz", title: "Graz" };
const query = "Wien größer Graz";

// The ids and models that stand in every answer.
const chatHead = { id: "chatcmpl-1", created: 1790000000, model: "m" };
const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
// OpenAI counts characters, whatever they take.
const length = (text) => [...text].length;
const characters = (text, from, to) => [...text].slice(from, to).join("");

// marked is a text that names its sources itself, each by its mark behind the words, and the places of the marks.
function marked(...marks) {
  let text = "";
  const places = said.map((words, i) => {
    const start = length((text += words));
    return { start_index: start, end_index: length((text += marks[i])) };
  });
  return { text, places };
}

const linked = marked(...[rain, sun].map((page) => ` ([x](${page.url}))`));
const numbered = marked("[1]", "[2]");
const xaiNumbered = marked(...[rain, sun].map((page, i) => `[[${i + 1}]](${page.url})`));
const marks = ({ text, places }, pages) => pages.map((page, i) => ({ ...page, part: characters(text, places[i].start_index, places[i].end_index) }));

const sse = (name, object) => `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(object)}\n\n`;

// pieces cuts a text where a vendor might, within words and never within a character.
const pieces = (text) => [...text].map((_, i, all) => all.slice(i, i + 5).join("")).filter((_, i) => i % 5 === 0);

// chat is an answer of Chat Completions: all says what stands beside the choices, annotations what stands in the message.
function chat({ text, annotations, all = {} }) {
  const message = { role: "assistant", content: text, refusal: null, annotations };
  const chunk = (delta, finish_reason = null, more = {}) =>
    sse("", { ...chatHead, object: "chat.completion.chunk", ...all, choices: [{ index: 0, delta, finish_reason }], ...more });
  return {
    whole: { ...chatHead, object: "chat.completion", ...all, choices: [{ index: 0, message, logprobs: null, finish_reason: "stop" }], usage },
    stream: [
      chunk({ role: "assistant", content: "" }),
      ...pieces(text).map((content) => chunk({ content })),
      ...(annotations ? [chunk({ annotations })] : []),
      chunk({}, "stop"),
      sse("", { ...chatHead, object: "chat.completion.chunk", ...all, choices: [], usage }),
      "data: [DONE]\n\n",
    ],
  };
}

// responses is an answer of Responses: a search, and a text with annotations. One of the web tells its sources to who asks.
function responses(text, annotations, files = false) {
  const answer = (status, output) => ({
    id: "resp_1", object: "response", created_at: 1790000000, status, error: null, incomplete_details: null, instructions: null, model: "m", output,
    parallel_tool_calls: true, temperature: 1, top_p: 1, tool_choice: "auto", tools: [], metadata: {},
    usage: status === "completed" ? { input_tokens: 11, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 16 } : null,
  });
  const search = (status, body) => {
    if (files) return { id: "ws_1", type: "file_search_call", status, queries: [query], results: null };
    const sources = body.include?.includes("web_search_call.action.sources") ? { sources: [rain, sun].map(({ url }) => ({ type: "url", url })) } : {};
    return { id: "ws_1", type: "web_search_call", status, action: { type: "search", query, queries: [query], ...sources } };
  };
  const part = (whole) => ({ type: "output_text", text: whole ? text : "", annotations: whole ? annotations : [], logprobs: [] });
  const message = (status) => ({ id: "msg_1", type: "message", status, role: "assistant", content: status === "completed" ? [part(true)] : [] });
  const events = (body) => {
    const at = { item_id: "msg_1", output_index: 1, content_index: 0 };
    return [
      { type: "response.created", response: answer("in_progress", []) },
      { type: "response.in_progress", response: answer("in_progress", []) },
      { type: "response.output_item.added", output_index: 0, item: search("in_progress", {}) },
      ...["in_progress", "searching", "completed"].map((s) => ({ type: `response.${files ? "file" : "web"}_search_call.${s}`, output_index: 0, item_id: "ws_1" })),
      { type: "response.output_item.done", output_index: 0, item: search("completed", body) },
      { type: "response.output_item.added", output_index: 1, item: message("in_progress") },
      { type: "response.content_part.added", ...at, part: part(false) },
      ...annotations.flatMap((annotation, annotation_index) => [
        ...pieces(characters(text, endOf(annotations[annotation_index - 1]), endOf(annotation))).map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [] })),
        { type: "response.output_text.annotation.added", ...at, annotation_index, annotation },
      ]),
      { type: "response.output_text.done", ...at, text, logprobs: [] },
      { type: "response.content_part.done", ...at, part: part(true) },
      { type: "response.output_item.done", output_index: 1, item: message("completed") },
      { type: "response.completed", response: answer("completed", [search("completed", body), message("completed")]) },
    ];
  };
  return {
    whole: (body) => answer("completed", [search("completed", body), message("completed")]),
    stream: (body) => events(body).map((event, sequence_number) => sse(event.type, { ...event, sequence_number })),
  };
}

function anthropic(search, citations) {
  const blocks = [
    ...search,
    ...said.map((text, i) => ({ type: "text", text, citations: [citations[i]] })),
  ];
  const usage = { input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5, server_tool_use: { web_search_requests: 1 } };
  const head = { id: "msg_1", type: "message", role: "assistant", model: "m" };
  const begun = { server_tool_use: { input: {} }, text: { text: "", citations: [] } };
  const deltas = (block) =>
    block.type === "text"
      ? [...block.citations.map((citation) => ({ type: "citations_delta", citation })), ...pieces(block.text).map((text) => ({ type: "text_delta", text }))]
      : block.type === "server_tool_use" ? [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }] : [];
  const events = [
    { type: "message_start", message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } } },
    ...blocks.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: { ...block, ...begun[block.type] } },
      ...deltas(block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  return { whole: { ...head, content: blocks, stop_reason: "end_turn", stop_sequence: null, usage }, stream: events.map((event) => sse(event.type, event)) };
}

function gemini(groundingChunks) {
  const bytes = (text) => Buffer.byteLength(text);
  const text = said.join("");
  const groundingMetadata = {
    webSearchQueries: [query],
    searchEntryPoint: { renderedContent: "<div></div>" },
    groundingChunks,
    groundingSupports: [
      { segment: { endIndex: bytes(said[0]), text: said[0] }, groundingChunkIndices: [0] },
      { segment: { startIndex: bytes(said[0]), endIndex: bytes(text), text: said[1] }, groundingChunkIndices: [1] },
    ],
  };
  const answer = (text, more) => ({
    candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 5, totalTokenCount: 16 }, modelVersion: "m", responseId: "r",
  });
  return {
    whole: answer(text, { finishReason: "STOP", groundingMetadata }),
    stream: [...pieces(text).map((piece) => sse("", answer(piece))), sse("", answer("", { finishReason: "STOP", groundingMetadata }))],
  };
}

// bedrock is an answer of Converse, whose streams have frames of bytes with checksums.
function bedrock(locations) {
  const citations = [rain, sun].map(({ title }, i) => ({ title, sourceContent: [{ text: said[i] }], location: locations[i] }));
  const usage = { inputTokens: 11, outputTokens: 5, totalTokens: 16 };
  const frames = [
    ["messageStart", { role: "assistant" }],
    ...said.flatMap((text, contentBlockIndex) => [
      ["contentBlockDelta", { contentBlockIndex, delta: { citation: citations[contentBlockIndex] } }],
      ...pieces(text).map((piece) => ["contentBlockDelta", { contentBlockIndex, delta: { text: piece } }]),
      ["contentBlockStop", { contentBlockIndex }],
    ]),
    ["messageStop", { stopReason: "end_turn" }],
    ["metadata", { usage, metrics: { latencyMs: 1 } }],
  ];
  return {
    whole: {
      output: { message: { role: "assistant", content: said.map((text, i) => ({ citationsContent: { content: [{ text }], citations: [citations[i]] } })) } },
      stopReason: "end_turn", usage, metrics: { latencyMs: 1 },
    },
    stream: frames.map(([name, object]) => frame(name, object)),
    type: "application/vnd.amazon.eventstream",
  };
}

function frame(name, object) {
  const headers = Object.entries({ ":event-type": name, ":content-type": "application/json", ":message-type": "event" }).map(([key, value]) =>
    Buffer.concat([Buffer.from([key.length]), Buffer.from(key), Buffer.from([7, value.length >> 8, value.length & 255]), Buffer.from(value)]));
  const number = (n) => Buffer.from([n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255]);
  const head = Buffer.concat(headers);
  const body = Buffer.from(JSON.stringify(object));
  const prelude = Buffer.concat([number(16 + head.length + body.length), number(head.length)]);
  const all = Buffer.concat([prelude, number(crc32(prelude)), head, body]);
  return Buffer.concat([all, number(crc32(all))]);
}

function cohere(pages) {
  const at = [0, length(said[0]), length(said.join(""))];
  const documents = pages.map((page, i) => ({ type: "document", id: `doc:${i}`, document: { id: `doc:${i}`, ...page, snippet: said[i] } }));
  const citations = said.map((text, i) => ({ start: at[i], end: at[i + 1], text, sources: [documents[i]], type: "TEXT_CONTENT", content_index: 0 }));
  const usage = { billed_units: { input_tokens: 11, output_tokens: 5 }, tokens: { input_tokens: 11, output_tokens: 5 } };
  const events = [
    { type: "message-start", id: "c", delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] } } },
    { type: "content-start", index: 0, delta: { message: { content: { type: "text", text: "" } } } },
    ...pieces(said.join("")).map((text) => ({ type: "content-delta", index: 0, delta: { message: { content: { text } } } })),
    { type: "content-end", index: 0 },
    ...citations.flatMap((citation, index) => [{ type: "citation-start", index, delta: { message: { citations: citation } } }, { type: "citation-end", index }]),
    { type: "message-end", delta: { finish_reason: "COMPLETE", usage } },
  ];
  return {
    whole: { id: "c", finish_reason: "COMPLETE", message: { role: "assistant", content: [{ type: "text", text: said.join("") }], citations }, usage },
    stream: events.map((event) => sse(event.type, event)),
  };
}

const endOf = (annotation) => annotation?.end_index ?? annotation?.index ?? 0;
const flat = ({ places }, pages) => pages.map((page, i) => ({ type: "url_citation", ...places[i], ...page }));
const nested = (mark, pages) => flat(mark, pages).map(({ type, ...inner }) => ({ type, url_citation: inner }));
const plain = [rain, sun].map((page, i) => ({ ...page, part: said[i] }));
const webSearch = [
  { type: "server_tool_use", id: "srvtoolu_01AB", name: "web_search", input: { query } },
  { type: "web_search_tool_result", tool_use_id: "srvtoolu_01AB", content: [rain, sun].map((page) => ({ type: "web_search_result", ...page, encrypted_content: "RXI=", page_age: null })) },
];
const webCitations = [rain, sun].map((page, i) => ({ type: "web_search_result_location", cited_text: said[i], ...page, encrypted_index: `RXJ=${i}` }));
const named = [rain, sun].map(({ title }, i) => ({ title, part: said[i] }));
const untold = [rain, sun].map(({ title }) => ({ title })); // OpenAI tells the end of the part alone
const fileCitations = [rain, sun].map(({ title }, i) => ({ type: "file_citation", file_id: `file-${i}`, filename: title, index: length(said.slice(0, i + 1).join("")) }));
const documentCitations = [rain, sun].map(({ title }, i) => ({
  type: "char_location", cited_text: said[i], document_index: i, document_title: title, file_id: null, start_char_index: 0, end_char_index: length(said[i]),
}));
const files = [rain, sun].map(({ title }, i) => ({ retrievedContext: { title, text: said[i], fileSearchStore: `fileSearchStores/${i}` } }));
const places = said.map((text, documentIndex) => ({ documentChar: { documentIndex, start: 0, end: length(text) } }));
const xaiPages = [rain, sun].map(({ url }, i) => ({ url, title: `${i + 1}` }));
const listed = { citations: [rain.url, sun.url], search_results: [rain, sun].map((page) => ({ ...page, date: "2026-01-02", last_updated: null, snippet: "" })) };

/**
 * The vendors: the wire format of their answers, a model that searches, whether clients wish for a search there, the
 * answers, the text of these and what is to be read: pages, each with the part of the text that names it or that it supports.
 */
export const vendors = [
  { name: "OpenAI, Responses", dialect: "responses", prefix: "/v1", model: "gpt-5", wish: true, ...responses(linked.text, flat(linked, [rain, sun])), text: linked.text, claims: marks(linked, [rain, sun]) },
  { name: "OpenAI, Chat Completions", dialect: "openai", prefix: "/v1", model: "gpt-5-search-api", wish: true, ...chat({ text: linked.text, annotations: nested(linked, [rain, sun]) }), text: linked.text, claims: marks(linked, [rain, sun]) },
  { name: "Anthropic", dialect: "anthropic", prefix: "/v1", model: "claude-haiku-4-5", wish: true, ...anthropic(webSearch, webCitations), text: said.join(""), claims: plain },
  { name: "Gemini", dialect: "gemini", prefix: "/v1beta", model: "gemini-2.5-flash", wish: true, ...gemini([rain, sun].map(({ url, title }) => ({ web: { uri: url, title } }))), text: said.join(""), claims: plain },
  { name: "Perplexity", dialect: "openai", prefix: "/v1", model: "sonar-pro", wish: true, ...chat({ text: numbered.text, all: listed }), text: numbered.text, claims: marks(numbered, [rain, sun]) },
  { name: "xAI, Responses", dialect: "responses", prefix: "/v1", model: "grok-4.3", wish: true, ...responses(xaiNumbered.text, flat(xaiNumbered, xaiPages)), text: xaiNumbered.text, claims: marks(xaiNumbered, xaiPages) },
  { name: "Amazon Bedrock", dialect: "bedrock", prefix: "", model: "amazon.nova-pro-v1:0", ...bedrock([rain, sun].map(({ url }) => ({ web: { url, domain: "x.example" } }))), text: said.join(""), claims: plain },
  { name: "Cohere", dialect: "cohere", prefix: "/v2", model: "command-a-03-2025", ...cohere([rain, sun]), text: said.join(""), claims: plain },
  // Those that cite files that they keep, or documents of the request.
  { name: "OpenAI, files", dialect: "responses", prefix: "/v1", model: "gpt-5", documents: true, ...responses(said.join(""), fileCitations, true), text: said.join(""), claims: untold },
  { name: "Anthropic, documents", dialect: "anthropic", prefix: "/v1", model: "claude-haiku-4-5", documents: true, ...anthropic([], documentCitations), text: said.join(""), claims: named },
  { name: "Gemini, files", dialect: "gemini", prefix: "/v1beta", model: "gemini-2.5-flash", documents: true, ...gemini(files), text: said.join(""), claims: named },
  { name: "Amazon Bedrock, documents", dialect: "bedrock", prefix: "", model: "anthropic.claude-haiku-4-5-20251001-v1:0", documents: true, ...bedrock(places), text: said.join(""), claims: named },
  { name: "Cohere, documents", dialect: "cohere", prefix: "/v2", model: "command-a-03-2025", documents: true, ...cohere([rain, sun].map(({ title }) => ({ title }))), text: said.join(""), claims: named },
].map((vendor, i) => ({ ...vendor, id: `searched-${i}` }));

/** The documents that requests have where documents are cited. */
export const documents = [rain, sun].map(({ title }, i) => ({ title, text: said[i] }));

/** The name of a vendor's model for who takes no name with a slash. */
export const searchedAlias = (vendor) => `alias-${vendor.id}`;

/** Starts the provider; it has a url, behind which each vendor is under its id, and close(). */
export async function openSearched() {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const data of request) text += data;
    const body = JSON.parse(text);
    const vendor = vendors.find((v) => request.url.startsWith(`/${v.id}/`));
    const streamed = body.stream || /stream/i.test(request.url);
    const answer = streamed ? vendor.stream : vendor.whole;
    const given = typeof answer === "function" ? answer(body) : answer;
    response.writeHead(200, { "content-type": streamed ? (vendor.type ?? "text/event-stream") : "application/json" });
    for (const piece of streamed ? given : [JSON.stringify(given)]) response.write(piece);
    response.end();
  });
  server.keepAliveTimeout = 600_000; // ms: a connection that ends while it is taken again would be a failure of its own
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
