#!/usr/bin/env bash
# OpenAI's SDK for Node, openai 7.59.0, keeps the annotations of the last delta alone when it sums up a stream of Chat
# Completions (client.chat.completions.stream(...).finalChatCompletion()). Text, refusals and arguments of tools are
# added up; of any other list in a delta the last one replaces those before it. So a model that searches the web and
# names its sources one by one, as they come up, loses all of them but the last: no error is raised. Sources that stand
# in one delta arrive whole.
#
# Output seen on 2026-11-29:
#   a source in each of two deltas: text "Rain. Snow.", annotations of https://b.example
#   both sources in one delta: text "Rain. Snow.", annotations of https://a.example, https://b.example
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { createServer } from "node:http";
import OpenAI from "openai";

const cited = (url, start, end) => ({ type: "url_citation", url_citation: { url, title: "Page", start_index: start, end_index: end } });
const a = cited("https://a.example", 0, 5), b = cited("https://b.example", 6, 11);
const streams = {
  "a source in each of two deltas": [{ role: "assistant", content: "Rain. " }, { annotations: [a] }, { content: "Snow." }, { annotations: [b] }],
  "both sources in one delta": [{ role: "assistant", content: "Rain. " }, { content: "Snow." }, { annotations: [a, b] }],
};
const chunk = (delta, finish_reason = null) => ({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] });
let deltas;
const server = createServer((request, response) => {
  const chunks = [...deltas.map((d) => chunk(d)), chunk({}, "stop")];
  response.writeHead(200, { "content-type": "text/event-stream" })
    .end(chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`).join("") + "data: [DONE]\n\n");
}).listen(0, "127.0.0.1", async () => {
  const client = new OpenAI({ apiKey: "any", baseURL: `http://127.0.0.1:${server.address().port}/v1` });
  for (const [name, all] of Object.entries(streams)) {
    deltas = all;
    const stream = client.chat.completions.stream({ model: "m", messages: [{ role: "user", content: "Weather?" }] });
    const { message } = (await stream.finalChatCompletion()).choices[0];
    console.log(`${name}: text ${JSON.stringify(message.content)}, annotations of ${message.annotations.map((c) => c.url_citation.url).join(", ")}`);
  }
  server.closeAllConnections();
  server.close();
});
JS
npm install --no-audit --no-fund --loglevel=error openai@7.59.0 >/dev/null

node main.mjs 2>/dev/null | tee seen
diff seen - <<'WANT'
a source in each of two deltas: text "Rain. Snow.", annotations of https://b.example
both sources in one delta: text "Rain. Snow.", annotations of https://a.example, https://b.example
WANT
