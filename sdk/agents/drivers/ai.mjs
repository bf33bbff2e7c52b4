import { createAnthropic } from "@ai-sdk/anthropic";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { document, key, lookUp, model, picture, prompt, url } from "./task.mjs";

const file = (data, mediaType) => ({ type: "file", data, mediaType });
const reply = streamText({
  model: createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(model),
  messages: [{ role: "user", content: [{ type: "text", text: prompt }, file(picture, "image/png"), ...(document ? [file(document, "application/pdf")] : [])] }],
  tools: { [lookUp.name]: tool({ description: lookUp.description, inputSchema: z.object({ path: z.string() }), execute: lookUp.run }) },
  stopWhen: stepCountIs(30),
});
console.log(await reply.text);
