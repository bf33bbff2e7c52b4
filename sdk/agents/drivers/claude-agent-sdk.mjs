import { query } from "@anthropic-ai/claude-agent-sdk";

import { model, prompt } from "./task.mjs";

for await (const message of query({ prompt, options: { model, maxTurns: 30, allowedTools: ["Read"], permissionMode: "dontAsk" } })) {
  if (message.type === "result") console.log(message.subtype, message.result ?? "");
}
