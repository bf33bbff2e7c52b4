import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";

import { document, key, lookUp, model, picture, prompt, url } from "./task.mjs";

const llm = new ChatOpenAI({ model, apiKey: key, configuration: { baseURL: `${url}/v1` } });
const agent = createAgent({ model: llm, tools: [tool(lookUp.run, { name: lookUp.name, description: lookUp.description, schema: z.object({ path: z.string() }) })] });
const content = [{ type: "text", text: prompt }, { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } },
  ...(document ? [{ type: "file", file: { filename: "document.pdf", file_data: `data:application/pdf;base64,${document}` } }] : [])];
const { messages } = await agent.invoke({ messages: [{ role: "user", content }] }, { recursionLimit: 60 });
console.log(messages.at(-1).text);
