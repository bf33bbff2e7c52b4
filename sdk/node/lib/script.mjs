// A provider that answers as a script has it, in the wire formats of OpenAI and of Google, without ids of calls in the
// latter: the model's name is the script's.
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

export const said = "One two three four five";
const words = said.split(/(?= )/);
export const cities = ["Bern", "Zürich"];
const silence = 11_000; // ms: two keep-alives of the gateway
const late = 2_500; // ms: more than the provider of the configuration may take before its first byte

const formats = {
  openai: {
    error: (status) => ({ error: { message: `scripted ${status}`, type: "server_error", param: null, code: null } }),
    text: (content) => openaiChunk({ content }, null),
    end: (finish) => [openaiChunk({}, finish ?? "stop"), openaiUsage, "data: [DONE]\n\n"],
    brokenOff: "insufficient_system_resource",
    // Pieces of two calls take turns.
    calls: () => {
      const piece = (index, more) => openaiChunk({ tool_calls: [{ index, ...more }] }, null);
      const texts = cities.map((city) => JSON.stringify({ city, days: 2 }));
      return [
        ...texts.map((_, i) => piece(i, { id: `call_${i}`, type: "function", function: { name: "weather", arguments: "" } })),
        ...texts.map((t, i) => piece(i, { function: { arguments: t.slice(0, 7) } })),
        ...texts.map((t, i) => piece(i, { function: { arguments: t.slice(7) } })),
        openaiChunk({}, "tool_calls"), openaiUsage, "data: [DONE]\n\n",
      ];
    },
    answered: (body) => body.messages.some((m) => m.role === "tool"),
  },
  gemini: {
    error: (status) => ({ error: { code: status, message: `scripted ${status}`, status: "UNAVAILABLE" } }),
    text: (text) => geminiChunk([{ text }]),
    end: (finish) => [geminiChunk([{ text: "" }], finish ?? "STOP")],
    brokenOff: "OTHER",
    calls: () => [geminiChunk(cities.map((city) => ({ functionCall: { name: "weather", args: { city, days: 2 } } })), "STOP")],
    answered: (body) => body.contents.some((c) => c.parts.some((p) => p.functionResponse)),
  },
};

const openaiHead = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1790000000, model: "m" };
const openaiChunk = (delta, finish) => event({ ...openaiHead, choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: finish }] });
const openaiUsage = `data: ${JSON.stringify({ ...openaiHead, choices: [], usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 } })}\n\n`;
const geminiChunk = (parts, finishReason) =>
  event({
    candidates: [{ content: { parts, role: "model" }, finishReason, index: 0 }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 5, totalTokenCount: 16 },
  });
const event = (object) => `data: ${JSON.stringify(object)}\n\n`;

/** What the provider does, by the script's name. */
const scripts = {
  async cut(a) {
    await a.send(...words.slice(0, 3).map(a.format.text));
    a.response.destroy();
  },
  async broken(a) {
    await a.send(...words.slice(0, 3).map(a.format.text), ...a.format.end(a.format.brokenOff));
  },
  async refused(a) {
    await wait(silence);
    a.refuse(400);
  },
  async silent(a) {
    await a.send(a.format.text(words[0]));
    await wait(silence);
    await a.send(...words.slice(1).map(a.format.text), ...a.format.end());
  },
  async turns(a) {
    const pieces = a.format.answered(a.body) ? [a.format.text(said), ...a.format.end()] : a.format.calls();
    await a.send(...pieces);
  },
  async 429(a) {
    a.refuse(429, { "retry-after": "3" });
  },
  async 504(a) {
    await wait(late);
    await a.send(...words.map(a.format.text), ...a.format.end());
  },
};

export const scriptNames = Object.keys(scripts);

// Answer is one answer that is being given.
class Answer {
  constructor(format, body, response) {
    Object.assign(this, { format, body, response });
  }

  async send(...pieces) {
    if (!this.response.headersSent) this.response.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) {
      this.response.write(piece);
      await wait(2); // so that they come one by one
    }
  }

  refuse(status, headers = {}) {
    this.response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(this.format.error(status)));
  }
}

/** Starts the provider; it has a url and close(). */
export async function openScripted() {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const data of request) text += data;
    const body = JSON.parse(text);
    const [, model] = /models\/([^:]+):/.exec(request.url) ?? [];
    const script = scripts[(model ?? body.model).split("-")[0]];
    const answer = new Answer(formats[model ? "gemini" : "openai"], body, response);
    await script(answer);
    if (!response.destroyed) response.end();
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
