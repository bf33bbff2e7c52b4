import { Agent, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

import { document, key, lookUp, model, picture, prompt, url } from "./task.mjs";

setTracingDisabled(true);
const tools = [tool({ name: lookUp.name, description: lookUp.description, parameters: z.object({ path: z.string() }), execute: lookUp.run })];
const agent = new Agent({ name: "Reader", instructions: "Read files.", tools, model: new OpenAIResponsesModel(new OpenAI({ baseURL: `${url}/v1`, apiKey: key }), model) });
const content = [{ type: "input_text", text: prompt }, { type: "input_image", image: `data:image/png;base64,${picture}` },
  ...(document ? [{ type: "input_file", file: `data:application/pdf;base64,${document}`, filename: "document.pdf" }] : [])];
const result = await run(agent, [{ role: "user", content }], { maxTurns: 30 });
console.log(result.finalOutput);
