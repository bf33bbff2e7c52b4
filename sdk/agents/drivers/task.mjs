// What the programs around frameworks have in common: the task, from the environment, and the tool that reads a file.
import { readFile } from "node:fs/promises";

export const { AGENT_URL: url, AGENT_KEY: key, AGENT_MODEL: model, AGENT_PROMPT: prompt } = process.env;
export const picture = await readFile(process.env.AGENT_PICTURE, "base64");
export const document = process.env.AGENT_DOCUMENT && (await readFile(process.env.AGENT_DOCUMENT, "base64")); // empty: none is to be sent
export const lookUp = { name: "look_up", description: "Reads a file", run: ({ path }) => readFile(path, "utf8") };
