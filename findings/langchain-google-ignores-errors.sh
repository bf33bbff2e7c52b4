#!/usr/bin/env bash
# LangChain's class for Google, @langchain/google-genai 2.3.2, passes over an error object in a stream: the program gets a
# shorter answer, and no error. It notices a body that breaks off. So an error event is not enough to tell of a failure.
#
# Output seen on 2026-11-28:
#   an error object, and the end: text "Hello "
#   an error object, and a body that breaks off: Error: [GoogleGenerativeAI Error]: Error reading from the stream
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { createServer } from "node:http";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";

process.on("unhandledRejection", () => {}); // the class leaves one where a body breaks off
const data = (object) => `data: ${JSON.stringify(object)}\n\n`;
const server = createServer((request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(data({ candidates: [{ content: { parts: [{ text: "Hello " }], role: "model" }, index: 0 }] }));
  response.write(data({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }));
  if (request.url.includes("/whole:")) response.end();
  else setTimeout(() => response.destroy(), 100);
}).listen(0, "127.0.0.1", async () => {
  const baseUrl = `http://127.0.0.1:${server.address().port}`;
  for (const [model, name] of [["whole", "the end"], ["broken", "a body that breaks off"]]) {
    let seen = "";
    try {
      for await (const chunk of await new ChatGoogleGenerativeAI({ model, apiKey: "any", baseUrl, maxRetries: 0 }).stream("Hi")) seen += chunk.text;
      seen = `text ${JSON.stringify(seen)}`;
    } catch (error) {
      seen = String(error);
    }
    console.log(`an error object, and ${name}: ${seen}`);
  }
  server.closeAllConnections();
  server.close();
});
JS
npm install --no-audit --no-fund --loglevel=error @langchain/google-genai@2.3.2 @langchain/core@1.4.0 >/dev/null

node main.mjs | tee seen
diff seen - <<'WANT'
an error object, and the end: text "Hello "
an error object, and a body that breaks off: Error: [GoogleGenerativeAI Error]: Error reading from the stream
WANT
