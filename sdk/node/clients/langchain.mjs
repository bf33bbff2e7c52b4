// LangChain's client of OpenAI, at both APIs.
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import OpenAI from "openai";

import { imageAddress, imageDataURL, person, toolArguments, toolName, toolText } from "../lib/question.mjs";
import { listen } from "../lib/wire.mjs";

const configuration = (x) => ({ baseURL: `${x.url}/v1`, fetch: x.fetch });
const messages = ({ prompt, image }) => [
  new HumanMessage({
    content: image
      ? [{ type: "text", text: prompt }, { type: "image_url", image_url: { url: image === "inline" ? imageDataURL : imageAddress } }]
      : prompt,
  }),
];
const usage = (message) => ({
  input: message.usage_metadata.input_tokens,
  output: message.usage_metadata.output_tokens,
  cost: message.response_metadata.usage?.cost,
});

const client = (api, responses) => {
  const model = (x) =>
    new ChatOpenAI({ model: x.model, apiKey: x.key, configuration: configuration(x), maxRetries: 0, useResponsesApi: responses });
  return {
    name: "@langchain/openai",
    api,
    classes: {
      400: OpenAI.BadRequestError,
      401: OpenAI.AuthenticationError,
      403: OpenAI.PermissionDeniedError,
      404: OpenAI.NotFoundError,
      429: OpenAI.RateLimitError,
      502: OpenAI.InternalServerError,
    },
    broken: (error) => error instanceof Error,
    aborted: (error) => error.name === "AbortError",
    told: (error) => ({ status: error.status, param: error.param, message: error.message, requestID: error.requestID }),
    async whole(x, ask) {
      const wire = listen(x); // of a whole reply from /v1/responses LangChain keeps the counts alone
      const reply = await model(x).invoke(messages(ask), { signal: x.signal });
      return { text: reply.text, ...usage(reply), cost: (await wire()).usage.cost };
    },
    async stream(x, ask) {
      let whole;
      for await (const chunk of await model(x).stream(messages(ask), { signal: x.signal })) {
        if (chunk.text) x.piece(chunk.text);
        whole = whole ? whole.concat(chunk) : chunk;
      }
      const { finish_reason: reason, status } = whole.response_metadata;
      return { finished: reason === "stop" || status === "completed", ...usage(whole) };
    },
    async abortable(x, ask) {
      await this.stream(x, ask);
    },
    async loop(x, ask) {
      const weather = tool(x.call, { name: toolName, description: toolText, schema: toolArguments });
      const bound = model(x).bindTools([weather]);
      const said = messages(ask);
      for (let turn = 0; turn < 3; turn++) {
        const reply = ask.stream ? await joined(bound.stream(said)) : await bound.invoke(said);
        if (!reply.tool_calls?.length) return { text: reply.text };
        said.push(reply, ...(await Promise.all(reply.tool_calls.map((c) => weather.invoke(c)))));
      }
    },
    async structured(x, ask) {
      return model(x).withStructuredOutput(person, { name: "person", method: "jsonSchema" }).invoke(messages(ask));
    },
  };
};

async function joined(stream) {
  let whole;
  for await (const chunk of await stream) whole = whole ? whole.concat(chunk) : chunk;
  return whole;
}

async function embed(x, { input, base64 }) {
  const options = { model: x.model, apiKey: x.key, configuration: configuration(x), maxRetries: 0 };
  if (!base64) options.encodingFormat = "float"; // else the SDK beneath asks for base64 and reads it
  return { vectors: await new OpenAIEmbeddings(options).embedDocuments(input) };
}

export const langchainChat = { ...client("/v1/chat/completions", false), embed };
export const langchainResponses = client("/v1/responses", true);
