#!/usr/bin/env bash
# Google's SDK, @google/genai 3.3.0, forgets a whole exchange of a chat when one chunk of a stream has no content, such as
# {} or one with usageMetadata alone. The program gets the whole text and no error, and the next question goes out alone.
# So a gateway cannot keep a stream alive by an empty chunk; one with {"text": ""} in it does no harm. (Each
# streamed chunk is kept as a content of its own, beside the question.)
#
# Output seen on 2026-11-28:
#   chunks with content: text "Hello you", history of 3
#   a chunk {} between: text "Hello you", history of 0
#   a chunk with an empty text between: text "Hello you", history of 4
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { createServer } from "node:http";
import { GoogleGenAI } from "@google/genai";

const chunk = (text, finishReason) => ({ candidates: [{ content: { parts: [{ text }], role: "model" }, finishReason, index: 0 }] });
const streams = { "chunks with content": [], "a chunk {} between": [{}], "a chunk with an empty text between": [chunk("")] };
const server = createServer((request, response) => {
  const between = Object.values(streams)[/models\/m(\d):/.exec(request.url)[1]];
  const chunks = [chunk("Hello "), ...between, chunk("you", "STOP")];
  response.writeHead(200, { "content-type": "text/event-stream" }).end(chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`).join(""));
}).listen(0, "127.0.0.1", async () => {
  const baseUrl = `http://127.0.0.1:${server.address().port}`;
  for (const [i, name] of Object.keys(streams).entries()) {
    const chat = new GoogleGenAI({ apiKey: "any", httpOptions: { baseUrl } }).chats.create({ model: `m${i}` });
    let text = "";
    for await (const c of await chat.sendMessageStream({ message: "Hi" })) text += c.text ?? "";
    console.log(`${name}: text ${JSON.stringify(text)}, history of ${chat.getHistory(true).length}`);
  }
  server.closeAllConnections();
  server.close();
});
JS
npm install --no-audit --no-fund --loglevel=error @google/genai@3.3.0 >/dev/null

node main.mjs 2>/dev/null | tee seen
diff seen - <<'WANT'
chunks with content: text "Hello you", history of 3
a chunk {} between: text "Hello you", history of 0
a chunk with an empty text between: text "Hello you", history of 4
WANT
