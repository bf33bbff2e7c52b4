#!/usr/bin/env bash
# The official MCP SDK for TypeScript, @modelcontextprotocol/sdk 1.32.2, drops the question of a tool to the person
# (server.server.elicitInput, as its guide shows it) without an error, if the client of the session has no stream of GET
# open: the question goes to that stream alone, and not to the stream of the call. The tool then waits until its timeout
# and fails, although the client has declared elicitation, and clients may leave out the GET. With relatedRequestId the
# question comes by the stream of the call.
#
# Output seen on 2026-11-30:
#   no GET, elicitInput: no question, the tool failed
#   no GET, elicitInput with relatedRequestId: a question, the tool failed
#   a GET, elicitInput: no question, the tool failed, a question by the GET
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

let related;
async function open() {
  const server = new McpServer({ name: "s", version: "1" });
  server.registerTool("ask", {}, async (extra) => {
    const options = { timeout: 1500, ...(related && { relatedRequestId: extra.requestId }) };
    await server.server.elicitInput({ message: "City?", requestedSchema: { type: "object", properties: {} } }, options);
    return { content: [] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  return transport;
}
const types = { "content-type": "application/json", accept: "application/json, text/event-stream" };
for (const [name, get, with_] of [
  ["no GET, elicitInput", false, false], ["no GET, elicitInput with relatedRequestId", false, true], ["a GET, elicitInput", true, false],
]) {
  related = with_;
  const transport = await open();
  const http = createServer((request, response) => transport.handleRequest(request, response)).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.on("listening", resolve));
  const url = `http://127.0.0.1:${http.address().port}/`;
  const post = (message, headers) => fetch(url, { method: "POST", headers: { ...types, ...headers }, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  const begun = await post({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "c", version: "1" } } });
  await begun.text();
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id"), "mcp-protocol-version": "2025-11-25" };
  await (await post({ method: "notifications/initialized" }, session)).text();
  let heard = "";
  if (get) {
    const stream = await fetch(url, { headers: { ...session, accept: "text/event-stream" } });
    (async () => {
      for await (const part of stream.body) heard += Buffer.from(part);
    })().catch(() => {});
  }
  const text = await (await post({ id: 2, method: "tools/call", params: { name: "ask", arguments: {} } }, session)).text();
  const asked = (t) => t.includes("elicitation/create");
  console.log(`${name}: ${asked(text) ? "a" : "no"} question, the tool ${/"isError":true/.test(text) ? "failed" : "answered"}${asked(heard) ? ", a question by the GET" : ""}`);
  await transport.close();
  http.closeAllConnections();
  http.close();
}
JS
npm install --no-audit --no-fund --loglevel=error @modelcontextprotocol/sdk@1.32.2 >/dev/null

node main.mjs 2>/dev/null | tee seen
diff seen - <<'WANT'
no GET, elicitInput: no question, the tool failed
no GET, elicitInput with relatedRequestId: a question, the tool failed
a GET, elicitInput: no question, the tool failed, a question by the GET
WANT
