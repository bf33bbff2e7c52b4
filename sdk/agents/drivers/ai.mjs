import { createAnthropic } from "@ai-sdk/anthropic";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { key, lookUp, model, picture, prompt, url } from "./task.mjs";

const reply = streamText({
  model: createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(model),
  messages: [{ role: "user", content: [{ type: "text", text: prompt }, { type: "image", image: picture, mediaType: "image/png" }] }],
  tools: { [lookUp.name]: tool({ description: lookUp.description, inputSchema: z.object({ path: z.string() }), execute: lookUp.run }) },
  stopWhen: stepCountIs(30),
});
console.log(await reply.text);
