// Vercel's AI SDK with its providers for OpenAI and Anthropic.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, embedMany, generateObject, generateText, stepCountIs, streamText, tool } from "ai";

import { imageAddress, imageBase64, person, toolArguments, toolName, toolText } from "../lib/question.mjs";
import { listen } from "../lib/wire.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

const messages = ({ prompt, image }) => [
  {
    role: "user",
    content: image
      ? [{ type: "text", text: prompt }, { type: "image", image: image === "inline" ? imageBase64 : new URL(imageAddress), mediaType: "image/png" }]
      : prompt,
  },
];
const usage = (u, cost) => ({ input: u.inputTokens, output: u.outputTokens, cost });
const all = [400, 401, 403, 404, 429, 502];

// client is the SDK before one of its providers; of() is that provider's model.
const client = (name, api, of, param, options = {}) => ({
  name,
  api,
  classes: Object.fromEntries(all.map((status) => [status, APICallError])),
  // The SDK hands on what stands in the stream: OpenAI's error object or an Error.
  broken: (error) => error instanceof Error || typeof error.message === "string",
  aborted: (error) => error.name === "AbortError",
  told: (error) => ({
    status: error.statusCode,
    param: param(error.data),
    message: error.message,
    requestID: error.responseHeaders?.["x-request-id"],
  }),
  async whole(x, ask) {
    const wire = listen(x); // of the usage the SDK keeps the counts alone
    const reply = await generateText({ model: of(x), messages: messages(ask), maxRetries: 0, abortSignal: x.signal, ...options });
    return { text: reply.text, requestID: reply.response.headers["x-request-id"], ...usage(reply.usage, (await wire()).usage.cost) };
  },
  async stream(x, ask) {
    const reply = streamText({ model: of(x), messages: messages(ask), maxRetries: 0, abortSignal: x.signal, includeRawChunks: true, onError() {}, ...options });
    let cost;
    for await (const part of reply.fullStream) {
      if (part.type === "text-delta") x.piece(part.text);
      if (part.type === "raw") cost = (part.rawValue.response?.usage ?? part.rawValue.usage)?.cost ?? cost;
      if (part.type === "error") throw part.error;
    }
    return { finished: (await reply.finishReason) === "stop", ...usage(await reply.usage, cost) };
  },
  async abortable(x, ask) {
    const reply = streamText({ model: of(x), messages: messages(ask), maxRetries: 0, abortSignal: x.signal, onError() {}, ...options });
    for await (const part of reply.fullStream) {
      if (part.type === "text-delta") x.piece(part.text);
      if (part.type === "abort") throw x.signal.reason;
    }
  },
  async loop(x, ask) {
    const tools = { [toolName]: tool({ description: toolText, inputSchema: toolArguments, execute: x.call }) };
    const request = { model: of(x), messages: messages(ask), tools, stopWhen: stepCountIs(3), maxRetries: 0, ...options };
    return { text: await (ask.stream ? streamText(request).text : (await generateText(request)).text) };
  },
  async structured(x, ask) {
    return (await generateObject({ model: of(x), messages: messages(ask), schema: person, maxRetries: 0, ...options })).object;
  },
});

const openai = (x) => createOpenAI({ baseURL: `${x.url}/v1`, apiKey: x.key, fetch: x.fetch });
const openaiParam = (data) => data?.error.param;
const embed = async (x, { input }) => {
  const reply = await embedMany({ model: openai(x).embedding(x.model), values: input, maxRetries: 0 });
  return { vectors: reply.embeddings, input: reply.usage.tokens };
};

export const aiOpenAIChat = {
  ...client("ai, @ai-sdk/openai", "/v1/chat/completions", (x) => openai(x).chat(x.model), openaiParam),
  embed,
};
// Without store: false the SDK refers to what went before by its id.
export const aiOpenAIResponses = client("ai, @ai-sdk/openai", "/v1/responses", (x) => openai(x).responses(x.model), openaiParam, {
  providerOptions: { openai: { store: false } },
});
export const aiAnthropic = client(
  "ai, @ai-sdk/anthropic",
  "/v1/messages",
  (x) => createAnthropic({ baseURL: `${x.url}/v1`, apiKey: x.key, fetch: x.fetch })(x.model),
  (data) => data?.error.message.split(": ")[0],
  { providerOptions: { anthropic: { structuredOutputMode: "outputFormat" } } },
);
