// Anthropic's own SDK.
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";

import { imageAddress, imageBase64, person, toolArguments, toolName, toolText } from "../lib/question.mjs";

const client = (x) => new Anthropic({ baseURL: x.url, apiKey: x.key, maxRetries: 0 });
const source = (image) =>
  image === "inline" ? { type: "base64", media_type: "image/png", data: imageBase64 } : { type: "url", url: imageAddress };
const body = (x, { prompt, image }) => ({
  model: x.model,
  max_tokens: 1000,
  messages: [{ role: "user", content: image ? [{ type: "text", text: prompt }, { type: "image", source: source(image) }] : prompt }],
});
const usage = (u) => ({ input: u.input_tokens, output: u.output_tokens, cost: u.cost });
const textOf = (message) => message.content.filter((b) => b.type === "text").map((b) => b.text).join("");

export const anthropic = {
  name: "@anthropic-ai/sdk",
  api: "/v1/messages",
  classes: {
    400: Anthropic.BadRequestError,
    401: Anthropic.AuthenticationError,
    403: Anthropic.PermissionDeniedError,
    404: Anthropic.NotFoundError,
    429: Anthropic.RateLimitError,
    502: Anthropic.InternalServerError,
  },
  broken: (error) => error instanceof Anthropic.APIError,
  aborted: (error) => error instanceof Anthropic.APIUserAbortError,
  // Anthropic's errors have no member for the parameter: the message begins with it.
  told: (error) => ({
    status: error.status,
    param: error.error?.error?.message?.split(": ")[0],
    message: error.message,
    requestID: error.requestID,
  }),
  async whole(x, ask) {
    const reply = await client(x).messages.create(body(x, ask), { signal: x.signal });
    return { text: textOf(reply), requestID: reply._request_id, ...usage(reply.usage) };
  },
  async stream(x, ask) {
    const total = {};
    let finish;
    for await (const event of await client(x).messages.create({ ...body(x, ask), stream: true })) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") x.piece(event.delta.text);
      if (event.type === "message_start") Object.assign(total, event.message.usage);
      if (event.type === "message_delta") Object.assign(total, event.usage);
      if (event.type === "message_delta") finish = event.delta.stop_reason;
    }
    return { finished: finish === "end_turn", ...usage(total) };
  },
  async abortable(x, ask) {
    const stream = client(x).messages.stream(body(x, ask), { signal: x.signal });
    stream.on("text", (delta) => x.piece(delta));
    return textOf(await stream.finalMessage());
  },
  async loop(x, ask) {
    const tool = betaZodTool({ name: toolName, description: toolText, inputSchema: toolArguments, run: x.call });
    const runner = client(x).beta.messages.toolRunner({ ...body(x, ask), tools: [tool], stream: ask.stream, max_iterations: 3 });
    return { text: textOf(await runner.runUntilDone()) };
  },
  vendor: "anthropic",
  async count(x, ask) {
    const { max_tokens: _, ...counted } = body(x, ask);
    return (await client(x).messages.countTokens(counted)).input_tokens;
  },
  async structured(x, ask) {
    const reply = await client(x).messages.parse({ ...body(x, ask), output_config: { format: zodOutputFormat(person) } });
    return reply.parsed_output;
  },
};
