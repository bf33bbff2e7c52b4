#!/usr/bin/env bash
# OpenAI's SDK, openai 7.59.0, takes a streamed call for whole when a piece of another call comes: its runner of tools
# parses the arguments that are there so far, and fails. Pieces of parallel calls that take turns are told apart by their
# index, and the SDK's own sum of them is right. So a gateway writes the pieces of one call after those of the other.
#
# Output seen on 2026-11-28:
#   one call after the other: Bern, Basel
#   in turns: Error: Error reading response: invalid structured output JSON.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { createServer } from "node:http";
import OpenAI from "openai";
import { zodFunction } from "openai/helpers/zod";
import { z } from "zod";

const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const begin = (index) => chunk({ role: "assistant", tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name: "weather", arguments: "" } }] });
const piece = (index, text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] });
const streams = {
  "one call after the other": [begin(0), piece(0, '{"city"'), piece(0, ':"Bern"}'), begin(1), piece(1, '{"city"'), piece(1, ':"Basel"}')],
  "in turns": [begin(0), begin(1), piece(0, '{"city"'), piece(1, '{"city"'), piece(0, ':"Bern"}'), piece(1, ':"Basel"}')],
};
const server = createServer(async (request, response) => {
  let body = "";
  for await (const data of request) body += data;
  const { model, messages } = JSON.parse(body);
  const said = messages.at(-1).role === "tool" ? chunk({ role: "assistant", content: "Done" }) + chunk({}, "stop") : streams[model].join("") + chunk({}, "tool_calls");
  response.writeHead(200, { "content-type": "text/event-stream" }).end(`${said}data: [DONE]\n\n`);
}).listen(0, "127.0.0.1", async () => {
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${server.address().port}`, apiKey: "any", maxRetries: 0 });
  for (const model of Object.keys(streams)) {
    const cities = [];
    const weather = zodFunction({ name: "weather", parameters: z.object({ city: z.string() }), function: ({ city }) => cities.push(city) && "sunny" });
    try {
      await client.chat.completions.runTools({ model, stream: true, messages: [{ role: "user", content: "Hi" }], tools: [weather] }).finalContent();
      console.log(`${model}: ${cities.join(", ")}`);
    } catch (error) {
      console.log(`${model}: ${error.name}: ${error.message}`);
    }
  }
  server.closeAllConnections();
  server.close();
});
JS
npm install --no-audit --no-fund --loglevel=error openai@7.59.0 zod@4.6.7 >/dev/null

node main.mjs | tee seen
diff seen - <<'WANT'
one call after the other: Bern, Basel
in turns: Error: Error reading response: invalid structured output JSON.
WANT
