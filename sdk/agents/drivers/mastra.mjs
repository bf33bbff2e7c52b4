import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

import { document, key, lookUp, model, picture, prompt, url } from "./task.mjs";

const look = createTool({ id: lookUp.name, description: lookUp.description, inputSchema: z.object({ path: z.string() }), execute: (input) => lookUp.run(input.context ?? input) });
const llm = createOpenAICompatible({ name: "weir", baseURL: `${url}/v1`, apiKey: key })(model);
const agent = new Agent({ id: "reader", name: "reader", instructions: "Read files.", model: llm, tools: { [lookUp.name]: look } });
const content = [{ type: "text", text: prompt }, { type: "image", image: picture, mimeType: "image/png" },
  ...(document ? [{ type: "file", data: document, mimeType: "application/pdf", filename: "document.pdf" }] : [])];
const reply = await agent.stream([{ role: "user", content }], { maxSteps: 30 });
console.log(await reply.text);
