// SDKs that hang up by a timeout of their own and ask again: the answer that the provider is at is paid once.
import assert from "node:assert/strict";

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";

import { prompt } from "./question.mjs";

const timeout = 3000; // ms, for a busy machine
const slow = "ttft=4500ms"; // longer

const openai = (x) => new OpenAI({ baseURL: `${x.url}/v1`, apiKey: x.key, timeout, maxRetries: 5 });
const messages = [{ role: "user", content: prompt }];

const clients = {
  "openai at /v1/chat/completions": (x) => openai(x).chat.completions.create({ model: x.model, messages }),
  "openai at /v1/responses": (x) => openai(x).responses.create({ model: x.model, input: prompt }),
  "@anthropic-ai/sdk": (x) => new Anthropic({ baseURL: x.url, apiKey: x.key, timeout, maxRetries: 5 }).messages.create({ model: x.model, max_tokens: 1000, messages }),
  "@google/genai": (x) => {
    const httpOptions = { baseUrl: x.url, timeout, retryOptions: { attempts: 6 } };
    return new GoogleGenAI({ apiKey: x.key, httpOptions }).models.generateContent({ model: x.model, contents: prompt });
  },
  "@langchain/openai": (x) => new ChatOpenAI({ model: x.model, apiKey: x.key, timeout, maxRetries: 5, configuration: { baseURL: `${x.url}/v1` } }).invoke(prompt),
};

/** Has each SDK wait for a slow provider of each wire format that may be its own. */
export async function hangUps(test, gateway) {
  const asked = Object.entries(clients).flatMap(([name, ask], i) =>
    ["openai", "anthropic", "gemini"].map((provider, j) => {
      const upstream = `echo:${slow},seed=99${i}${j}`; // which nobody else asks
      return test.test(`${name}, ${provider}`, async () => {
        await ask({ url: gateway.url, key: gateway.key, model: `${provider}/${upstream}` });
        const records = await gateway.records(upstream);
        assert.equal(records.length, 1, "requests at the provider");
      });
    }),
  );
  await Promise.all(asked);
}
