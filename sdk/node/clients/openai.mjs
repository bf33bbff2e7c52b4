// OpenAI's own SDK, at both of its APIs.
import OpenAI from "openai";
import { zodFunction, zodResponseFormat, zodTextFormat } from "openai/helpers/zod";

import { imageAddress, imageDataURL, person, toolArguments, toolName, toolText } from "../lib/question.mjs";

const client = (x) => new OpenAI({ baseURL: `${x.url}/v1`, apiKey: x.key, maxRetries: 0 });
const imageURL = (image) => (image === "inline" ? imageDataURL : imageAddress);

const common = {
  classes: {
    400: OpenAI.BadRequestError,
    401: OpenAI.AuthenticationError,
    403: OpenAI.PermissionDeniedError,
    404: OpenAI.NotFoundError,
    429: OpenAI.RateLimitError,
    502: OpenAI.InternalServerError,
  },
  broken: (error) => error instanceof OpenAI.APIError,
  aborted: (error) => error instanceof OpenAI.APIUserAbortError,
  told: (error) => ({ status: error.status, param: error.param, message: error.message, requestID: error.requestID }),
};

const chatMessages = ({ prompt, image }) => [
  {
    role: "user",
    content: image ? [{ type: "text", text: prompt }, { type: "image_url", image_url: { url: imageURL(image) } }] : prompt,
  },
];
const chatUsage = (u) => ({ input: u.prompt_tokens, output: u.completion_tokens, cost: u.cost });

export const openaiChat = {
  ...common,
  name: "openai",
  api: "/v1/chat/completions",
  async whole(x, ask) {
    const reply = await client(x).chat.completions.create({ model: x.model, messages: chatMessages(ask) }, { signal: x.signal });
    return { text: reply.choices[0].message.content, requestID: reply._request_id, ...chatUsage(reply.usage) };
  },
  async stream(x, ask) {
    const body = { model: x.model, messages: chatMessages(ask), stream: true, stream_options: { include_usage: true } };
    let usage;
    let finish;
    for await (const chunk of await client(x).chat.completions.create(body)) {
      const choice = chunk.choices[0];
      if (choice?.delta.content) x.piece(choice.delta.content);
      finish = choice?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
    }
    return { finished: finish === "stop", ...chatUsage(usage) };
  },
  // The SDK's plain iterator ends without a word where it is aborted; its
  // runner rejects.
  async abortable(x, ask) {
    const runner = client(x).chat.completions.stream({ model: x.model, messages: chatMessages(ask) }, { signal: x.signal });
    runner.on("content", (delta) => x.piece(delta));
    return runner.finalContent();
  },
  async loop(x, ask) {
    const tool = zodFunction({ name: toolName, description: toolText, parameters: toolArguments, function: x.call });
    const runner = client(x).chat.completions.runTools({ model: x.model, messages: chatMessages(ask), tools: [tool], stream: ask.stream });
    return { text: await runner.finalContent() };
  },
  async structured(x, ask) {
    const format = zodResponseFormat(person, "person");
    const reply = await client(x).chat.completions.parse({ model: x.model, messages: chatMessages(ask), response_format: format });
    return reply.choices[0].message.parsed;
  },
  async embed(x, { input, base64 }) {
    const encoding = base64 ? {} : { encoding_format: "float" }; // the SDK asks for base64 unless told otherwise
    const reply = await client(x).embeddings.create({ model: x.model, input, ...encoding });
    return { vectors: reply.data.map((d) => d.embedding), input: reply.usage.prompt_tokens, cost: reply.usage.cost };
  },
};

const responsesInput = ({ prompt, image }) => [
  {
    role: "user",
    content: image ? [{ type: "input_text", text: prompt }, { type: "input_image", image_url: imageURL(image), detail: "auto" }] : prompt,
  },
];
const responsesUsage = (u) => ({ input: u.input_tokens, output: u.output_tokens, cost: u.cost });

export const openaiResponses = {
  ...common,
  name: "openai",
  api: "/v1/responses",
  async whole(x, ask) {
    const reply = await client(x).responses.create({ model: x.model, input: responsesInput(ask) }, { signal: x.signal });
    return { text: reply.output_text, requestID: reply._request_id, ...responsesUsage(reply.usage) };
  },
  async stream(x, ask) {
    const body = { model: x.model, input: responsesInput(ask), stream: true };
    let final;
    for await (const event of await client(x).responses.create(body)) {
      if (event.type === "response.output_text.delta") x.piece(event.delta);
      if (event.type === "response.completed") final = event.response;
    }
    return { finished: final?.status === "completed", ...responsesUsage(final.usage) };
  },
  async abortable(x, ask) {
    const stream = client(x).responses.stream({ model: x.model, input: responsesInput(ask) }, { signal: x.signal });
    stream.on("response.output_text.delta", (event) => x.piece(event.delta));
    return (await stream.finalResponse()).output_text;
  },
  async loop(x, ask) {
    const tools = [{ type: "function", name: toolName, description: toolText, parameters: zodTextFormat(toolArguments, toolName).schema, strict: true }];
    const input = responsesInput(ask);
    for (let turn = 0; turn < 3; turn++) {
      const stream = ask.stream && client(x).responses.stream({ model: x.model, input, tools });
      const reply = stream ? await stream.finalResponse() : await client(x).responses.create({ model: x.model, input, tools });
      const calls = reply.output.filter((item) => item.type === "function_call");
      if (calls.length === 0) return { text: reply.output_text };
      input.push(...reply.output);
      for (const c of calls) {
        input.push({ type: "function_call_output", call_id: c.call_id, output: x.call(JSON.parse(c.arguments)) });
      }
    }
  },
  async structured(x, ask) {
    const text = { format: zodTextFormat(person, "person") };
    const reply = await client(x).responses.parse({ model: x.model, input: responsesInput(ask), text });
    return reply.output_parsed;
  },
};
