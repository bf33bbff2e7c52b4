// How the SDKs hand on what an answer rests on, whole and streamed: the text, the pages in their order, and the part of
// the text that each names or supports, where the SDK tells parts.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";

import { prompt } from "../lib/question.mjs";
import { documents } from "../lib/searched.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

const user = [{ role: "user", content: prompt }];

// read is what there is in texts: each has a text and citations, whose parts are of it. A document has no address.
function read(texts) {
  const pages = texts.flatMap(({ text, cited }) =>
    cited.map((c) => ({ url: c.url || undefined, title: c.title ?? c.document_title ?? c.filename, part: c.of ? c.of(text) : text })));
  return { text: texts.map((t) => t.text).join(""), pages };
}
const inCharacters = (a) => ({ url: a.url, title: a.title ?? a.filename, of: (text) => part(text, a.start_index ?? a.startIndex, a.end_index ?? a.endIndex) });
// part is a part of a text; an annotation of a file tells no beginning, or none of its own.
const part = (text, from, to) => (to > from ? [...text].slice(from, to).join("") : undefined);

const openai = (x) => new OpenAI({ baseURL: `${x.url}/v1`, apiKey: x.key, maxRetries: 0 });

const openaiChat = {
  name: "openai",
  api: "/v1/chat/completions",
  dialect: "openai",
  async ask(x, stream) {
    const body = { model: x.model, messages: user, ...(x.wish && { web_search_options: {} }) };
    const chat = openai(x).chat.completions;
    const { message } = (await (stream ? chat.stream(body).finalChatCompletion() : chat.create(body))).choices[0];
    return read([{ text: message.content, cited: (message.annotations ?? []).map((a) => inCharacters(a.url_citation)) }]);
  },
};

const openaiResponses = {
  name: "openai",
  api: "/v1/responses",
  dialect: "responses",
  async ask(x, stream) {
    const body = { model: x.model, input: prompt, store: false, ...(x.wish && { tools: [{ type: "web_search" }] }) };
    const { responses } = openai(x);
    const reply = await (stream ? responses.stream(body).finalResponse() : responses.create(body));
    const parts = reply.output.filter((item) => item.type === "message").flatMap((item) => item.content);
    return read(parts.map((part) => ({ text: part.text, cited: part.annotations.map(inCharacters) })));
  },
};

// The documents as Anthropic's API takes them, to be cited.
const cited = documents.map(({ title, text }) => ({ type: "document", title, source: { type: "text", media_type: "text/plain", data: text }, citations: { enabled: true } }));

const anthropic = {
  name: "@anthropic-ai/sdk",
  api: "/v1/messages",
  dialect: "anthropic",
  blocks: true,
  async ask(x, stream) {
    const tools = x.wish && [{ type: "web_search_20250305", name: "web_search" }];
    const { messages } = new Anthropic({ baseURL: x.url, apiKey: x.key, maxRetries: 0 });
    const content = x.documents ? [...cited, { type: "text", text: prompt }] : prompt;
    const body = { model: x.model, max_tokens: 1000, messages: [{ role: "user", content }], ...(tools && { tools }) };
    const reply = await (stream ? messages.stream(body).finalMessage() : messages.create(body));
    return read(reply.content.filter((b) => b.type === "text").map((b) => ({ text: b.text, cited: b.citations ?? [] })));
  },
};

// Google's places count the bytes of a part, in streams of the whole text. A chunk that no support names is of no part.
function grounded(parts, metadata) {
  const texts = parts.map((part) => ({ text: part, cited: [] }));
  const page = ({ web, retrievedContext }, of) => ({ url: web?.uri, title: (web ?? retrievedContext).title, of });
  for (const { segment, groundingChunkIndices } of metadata?.groundingSupports ?? []) {
    const of = (text) => Buffer.from(text).subarray(segment.startIndex ?? 0, segment.endIndex).toString();
    for (const i of groundingChunkIndices) {
      texts[segment.partIndex ?? 0].cited.push(page(metadata.groundingChunks[i], of));
    }
  }
  const supported = new Set(metadata?.groundingSupports?.flatMap((s) => s.groundingChunkIndices));
  const rest = (metadata?.groundingChunks ?? []).filter((_, i) => !supported.has(i));
  texts.at(-1).cited.push(...rest.map((chunk) => page(chunk, () => undefined)));
  return read(texts);
}

const genai = {
  name: "@google/genai",
  api: "/v1beta/models",
  dialect: "gemini",
  async ask(x, stream) {
    const { models } = new GoogleGenAI({ apiKey: x.key, httpOptions: { baseUrl: x.url } });
    const request = { model: x.model, contents: prompt, config: x.wish && { tools: [{ googleSearch: {} }] } };
    if (!stream) {
      const [candidate] = (await models.generateContent(request)).candidates;
      return grounded(candidate.content.parts.map((p) => p.text), candidate.groundingMetadata);
    }
    let text = "";
    let metadata;
    for await (const chunk of await models.generateContentStream(request)) {
      text += chunk.text ?? "";
      metadata = chunk.candidates?.[0].groundingMetadata ?? metadata;
    }
    return grounded([text], metadata);
  },
};

const aiDocuments = documents.map(({ title, text }) => ({
  type: "file", data: new TextEncoder().encode(text), mediaType: "text/plain", filename: title, providerOptions: { anthropic: { title, citations: { enabled: true } } },
}));

const ai = (packages, api, dialect, of, providerOptions) => ({
  name: `ai, ${packages}`,
  api,
  dialect,
  stores: dialect === "gemini", // of files it reads those of a store alone
  async ask(x, stream) {
    const { model, tools } = of(x);
    const asked = x.documents && dialect === "anthropic" ? { messages: [{ role: "user", content: [...aiDocuments, { type: "text", text: prompt }] }] } : { prompt };
    const request = { model, ...asked, maxRetries: 0, providerOptions, ...(x.wish && { tools }) };
    const reply = stream ? streamText({ ...request, onError() {} }) : await generateText(request);
    const pages = (await reply.sources).map(({ url, title }) => ({ url: url || undefined, title }));
    return { text: await reply.text, pages };
  },
});
const v1 = (x) => ({ baseURL: `${x.url}/v1`, apiKey: x.key });
const aiOf = (provider, model, tools) => ({ model, tools: tools?.(provider.tools) });

const ofBlock = ["url", "char", "page", "block", "search"]; // whose annotations are of a block of text, in LangChain's words

const langchain = (name, api, dialect, of, wish) => ({
  name,
  api,
  dialect,
  blocks: dialect === "anthropic",
  async ask(x, stream) {
    const model = x.wish ? of(x).bindTools(wish) : of(x);
    let reply;
    const question = x.documents && dialect === "anthropic" ? [new HumanMessage({ content: [...cited, { type: "text", text: prompt }] })] : prompt;
    if (stream) for await (const chunk of await model.stream(question)) reply = reply ? reply.concat(chunk) : chunk;
    else reply = await model.invoke(question);
    const texts = reply.contentBlocks.filter((b) => b.type === "text");
    return read(texts.map((b) => ({ text: b.text, cited: (b.annotations ?? []).map((a) => (ofBlock.includes(a.source) ? { url: a.url, title: a.title } : inCharacters(a))) })));
  },
});
const plain = (x) => ({ model: x.model, apiKey: x.key, maxRetries: 0 });

export const clients = [
  openaiChat,
  openaiResponses,
  anthropic,
  genai,
  ai("@ai-sdk/openai", "/v1/chat/completions", "openai", (x) => aiOf({}, createOpenAI(v1(x)).chat(x.model))),
  ai("@ai-sdk/openai", "/v1/responses", "responses", (x) => {
    const provider = createOpenAI(v1(x));
    return aiOf(provider, provider.responses(x.model), (tools) => ({ web_search: tools.webSearch({}) }));
  }, { openai: { store: false } }),
  ai("@ai-sdk/openai-compatible", "/v1/chat/completions", "openai", (x) => aiOf({}, createOpenAICompatible({ name: "weir", ...v1(x) })(x.model))),
  ai("@ai-sdk/anthropic", "/v1/messages", "anthropic", (x) => {
    const provider = createAnthropic(v1(x));
    return aiOf(provider, provider(x.model), (tools) => ({ web_search: tools.webSearch_20250305({}) }));
  }),
  ai("@ai-sdk/google", "/v1beta/models", "gemini", (x) => {
    const provider = createGoogleGenerativeAI({ baseURL: `${x.url}/v1beta`, apiKey: x.key });
    return aiOf(provider, provider(`models/${x.model}`), (tools) => ({ google_search: tools.googleSearch({}) }));
  }),
  langchain("@langchain/openai", "/v1/chat/completions", "openai", (x) => new ChatOpenAI({ ...plain(x), configuration: { baseURL: `${x.url}/v1` }, ...(x.wish && { modelKwargs: { web_search_options: {} } }) }), []),
  langchain("@langchain/openai", "/v1/responses", "responses", (x) => new ChatOpenAI({ ...plain(x), configuration: { baseURL: `${x.url}/v1` }, useResponsesApi: true }), [{ type: "web_search" }]),
  langchain("@langchain/anthropic", "/v1/messages", "anthropic", (x) => new ChatAnthropic({ ...plain(x), anthropicApiUrl: x.url }), [{ type: "web_search_20250305", name: "web_search" }]),
  langchain("@langchain/google-genai", "/v1beta/models", "gemini", (x) => new ChatGoogleGenerativeAI({ ...plain(x), model: x.alias, baseUrl: x.url }), [{ googleSearch: {} }]),
];
