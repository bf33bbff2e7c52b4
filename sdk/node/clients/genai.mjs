// Google's own SDK.
import { ApiError, FunctionCallingConfigMode, GoogleGenAI } from "@google/genai";

import { imageAddress, imageBase64, personSchema, toolName, toolSchema, toolText } from "../lib/question.mjs";

const client = (x) => new GoogleGenAI({ apiKey: x.key, httpOptions: { baseUrl: x.url } });
const part = (image) =>
  image === "inline"
    ? { inlineData: { mimeType: "image/png", data: imageBase64 } }
    : { fileData: { mimeType: "image/png", fileUri: imageAddress } };
const contents = ({ prompt, image }) => [{ role: "user", parts: image ? [{ text: prompt }, part(image)] : [{ text: prompt }] }];
const usage = (u) => ({ input: u.promptTokenCount, output: u.candidatesTokenCount, cost: u.cost });
const all = [400, 401, 403, 404, 429, 502];

export const genai = {
  name: "@google/genai",
  api: "/v1beta/models",
  classes: Object.fromEntries(all.map((status) => [status, ApiError])),
  broken: (error) => error instanceof Error,
  aborted: (error) => error.name === "AbortError",
  // The message of Google's class is the body of the error.
  told(error) {
    const body = bodyOf(error);
    const detail = (type) => body?.error.details?.find((d) => d["@type"].endsWith(type));
    return {
      status: error.status,
      param: detail("BadRequest")?.fieldViolations[0].field,
      message: body?.error.message ?? error.message,
      requestID: detail("RequestInfo")?.requestId,
    };
  },
  async whole(x, ask) {
    const reply = await client(x).models.generateContent({ model: x.model, contents: contents(ask), config: { abortSignal: x.signal } });
    return { text: reply.text, requestID: reply.responseId, ...usage(reply.usageMetadata) };
  },
  async stream(x, ask) {
    const request = { model: x.model, contents: contents(ask), config: { abortSignal: x.signal } };
    let last;
    let finish;
    for await (const chunk of await client(x).models.generateContentStream(request)) {
      if (chunk.text) x.piece(chunk.text);
      finish = chunk.candidates?.[0].finishReason ?? finish;
      last = chunk.usageMetadata ?? last;
    }
    return { finished: finish === "STOP", ...usage(last) };
  },
  async abortable(x, ask) {
    await this.stream(x, ask);
  },
  async loop(x, ask) {
    const tools = [{ functionDeclarations: [{ name: toolName, description: toolText, parametersJsonSchema: toolSchema }] }];
    const config = { tools, toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } } };
    const said = contents(ask);
    for (let turn = 0; turn < 3; turn++) {
      const request = { model: x.model, contents: said, config };
      const parts = ask.stream ? await partsOf(client(x).models.generateContentStream(request)) : (await client(x).models.generateContent(request)).candidates[0].content.parts;
      const calls = parts.filter((p) => p.functionCall).map((p) => p.functionCall);
      if (calls.length === 0) return { text: parts.map((p) => p.text).join("") };
      said.push({ role: "model", parts });
      said.push({
        role: "user",
        parts: calls.map((c) => ({ functionResponse: { id: c.id, name: c.name, response: { output: x.call(c.args) } } })),
      });
    }
  },
  vendor: "gemini",
  async count(x, ask) {
    return (await client(x).models.countTokens({ model: x.model, contents: contents(ask) })).totalTokens;
  },
  async structured(x, ask) {
    const config = { responseMimeType: "application/json", responseJsonSchema: personSchema };
    const reply = await client(x).models.generateContent({ model: x.model, contents: contents(ask), config });
    return JSON.parse(reply.text);
  },
  async embed(x, { input }) {
    const reply = await client(x).models.embedContent({ model: x.model, contents: input });
    return { vectors: reply.embeddings.map((e) => e.values) };
  },
};

async function partsOf(stream) {
  const parts = [];
  for await (const chunk of await stream) parts.push(...(chunk.candidates?.[0].content?.parts ?? []));
  return parts;
}

function bodyOf(error) {
  try {
    return JSON.parse(error.message);
  } catch {
    return undefined;
  }
}
