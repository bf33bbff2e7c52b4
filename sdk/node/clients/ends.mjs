// The SDKs as most programs use them for a stream: text() is the answer's text, or it rejects. The classes of the SDKs
// for which there is no file beside this one are only here.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { GoogleGenAI } from "@google/genai";
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { Mistral } from "@mistralai/mistralai";
import { stepCountIs, streamText, tool as aiTool } from "ai";

import { prompt, toolArguments, toolName, toolText } from "../lib/question.mjs";
import { anthropic } from "./anthropic.mjs";
import { genai } from "./genai.mjs";
import { openaiChat, openaiResponses } from "./openai.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

// What is read event by event, and by the SDK's own helper.
const own = (client, helper) => [
  {
    name: client.name,
    api: client.api,
    how: "events",
    async text(x) {
      const pieces = [];
      await client.stream({ ...x, piece: (text) => pieces.push(text) }, { prompt });
      return pieces.join("");
    },
    loop: (x) => client.loop(x, { prompt, stream: true }),
  },
  { name: client.name, api: client.api, how: helper, text: (x) => client.abortable({ ...x, piece() {} }, { prompt }) },
];

// Google's chats keep the conversation; what was said before has to be in the next question.
const chats = {
  name: "@google/genai",
  api: "/v1beta/models",
  how: "chats",
  async text(x) {
    const chat = new GoogleGenAI({ apiKey: x.key, httpOptions: { baseUrl: x.url } }).chats.create({ model: x.model });
    let text = "";
    for await (const chunk of await chat.sendMessageStream({ message: prompt })) text += chunk.text ?? "";
    if (chat.getHistory(true).length < 2) throw new Error("the chat forgot the answer");
    return text;
  },
};

const ai = (packages, api, of, providerOptions) => ({
  name: `ai, ${packages}`,
  api,
  how: "await text",
  text: async (x) => streamText({ model: of(x), prompt, maxRetries: 0, onError() {}, providerOptions }).text,
  loop: async (x) =>
    streamText({
      model: of(x),
      prompt,
      tools: { [toolName]: aiTool({ description: toolText, inputSchema: toolArguments, execute: x.call }) },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
      providerOptions,
    }).text,
});
const v1 = (x) => ({ baseURL: `${x.url}/v1`, apiKey: x.key });

const langchain = (name, api, of) => ({
  name,
  api,
  how: "stream",
  async text(x) {
    let text = "";
    for await (const chunk of await of(x).stream(prompt)) text += chunk.text;
    return text;
  },
  async loop(x) {
    const weather = tool(x.call, { name: toolName, description: toolText, schema: toolArguments });
    const said = [new HumanMessage(prompt)];
    for (let turn = 0; turn < 3; turn++) {
      let whole;
      for await (const chunk of await of(x).bindTools([weather]).stream(said)) whole = whole ? whole.concat(chunk) : chunk;
      if (!whole.tool_calls?.length) return whole.text;
      said.push(whole, ...(await Promise.all(whole.tool_calls.map((c) => weather.invoke(c)))));
    }
  },
});
const plain = (x) => ({ model: x.model, apiKey: x.key, maxRetries: 0 });

const mistral = {
  name: "@mistralai/mistralai",
  api: "/v1/chat/completions",
  how: "stream",
  async text(x) {
    let text = "";
    for await (const event of await mistralClient(x).chat.stream({ model: x.model, messages: [{ role: "user", content: prompt }] })) {
      text += event.data.choices[0]?.delta.content ?? "";
    }
    return text;
  },
};
const mistralClient = (x) => new Mistral({ serverURL: x.url, apiKey: x.key, retryConfig: { strategy: "none" } });

export const clients = [
  ...own(openaiChat, "helper"),
  ...own(openaiResponses, "helper"),
  ...own(anthropic, "helper"),
  own(genai)[0],
  chats,
  ai("@ai-sdk/openai", "/v1/chat/completions", (x) => createOpenAI(v1(x)).chat(x.model)),
  ai("@ai-sdk/openai", "/v1/responses", (x) => createOpenAI(v1(x)).responses(x.model), { openai: { store: false } }),
  ai("@ai-sdk/openai-compatible", "/v1/chat/completions", (x) => createOpenAICompatible({ name: "weir", ...v1(x) })(x.model)),
  ai("@ai-sdk/anthropic", "/v1/messages", (x) => createAnthropic(v1(x))(x.model)),
  ai("@ai-sdk/google", "/v1beta/models", (x) => createGoogleGenerativeAI({ baseURL: `${x.url}/v1beta`, apiKey: x.key })(`models/${x.model}`)),
  langchain("@langchain/openai", "/v1/chat/completions", (x) => new ChatOpenAI({ ...plain(x), configuration: { baseURL: `${x.url}/v1` } })),
  langchain("@langchain/openai", "/v1/responses", (x) => new ChatOpenAI({ ...plain(x), configuration: { baseURL: `${x.url}/v1` }, useResponsesApi: true })),
  langchain("@langchain/anthropic", "/v1/messages", (x) => new ChatAnthropic({ ...plain(x), anthropicApiUrl: x.url })),
  langchain("@langchain/google-genai", "/v1beta/models", (x) => new ChatGoogleGenerativeAI({ ...plain(x), model: x.alias, baseUrl: x.url })),
  mistral,
];
