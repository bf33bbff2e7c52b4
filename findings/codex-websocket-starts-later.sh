#!/usr/bin/env bash
# OpenAI's Codex, @openai/codex 0.171.0, opens a WebSocket to be faster, and sends its first request later than over HTTP: over
# the WebSocket it first sends a request with "generate": false, and begins its turn only after the answer to that. Against a
# server that answers at once a start needs as long as over HTTP or longer, and two round trips of the network more: for the
# upgrade and for that answer. Later turns are faster. So nobody between can make the start faster than over HTTP.
#
# The server answers the preparing request 600 ms late: the turn waits for it.
#
# Output seen on 2026-11-30:
#   over HTTP: request
#   over a WebSocket: upgrade, prepare, request
#   the request came after the late answer: true
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { WebSocketServer } from "ws";

// rustls refuses an authority's certificate as a server's own.
const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"];
execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key.pem", "-out", "cert.pem", ...subject], { stdio: "ignore" });

let steps = [];
let late = false;
const seen = (step) => steps.push([step, Date.now()]);
const answer = (empty) => {
  const response = { id: "resp_1", object: "response", created_at: 1, status: "in_progress", model: "m", output: [] };
  const item = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Hello.", annotations: [] }] };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const output = empty ? [] : [item];
  return [
    { type: "response.created", response },
    ...output.map((item) => ({ type: "response.output_item.done", output_index: 0, item })),
    { type: "response.completed", response: { ...response, status: "completed", output, usage } },
  ].map((e, n) => JSON.stringify({ ...e, sequence_number: n }));
};
const server = createServer({ key: readFileSync("key.pem"), cert: readFileSync("cert.pem") }, (request, response) => {
  seen("request");
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(answer(false).map((e) => `event: ${JSON.parse(e).type}\ndata: ${e}\n\n`).join(""));
  });
});
new WebSocketServer({ server }).on("connection", (socket) => {
  seen("upgrade");
  socket.on("message", (message) => {
    const prepares = JSON.parse(message).generate === false;
    seen(prepares ? "prepare" : "request");
    const send = () => answer(prepares).forEach((e) => socket.send(e));
    if (!prepares) return send();
    setTimeout(() => (send(), (late = Date.now())), 600);
  });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const run = async (sockets) => {
  steps = [];
  const home = `${process.cwd()}/${sockets}`;
  mkdirSync(`${home}/.codex`, { recursive: true });
  writeFileSync(`${home}/.codex/config.toml`, [
    'model = "m"', 'model_provider = "it"', 'web_search = "disabled"', "[model_providers.it]", 'name = "It"', 'env_key = "KEY"',
    `base_url = "https://localhost:${server.address().port}/v1"`, `supports_websockets = ${sockets}`, "[agents]", "enabled = false", "",
  ].join("\n"));
  const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: `${home}/.codex`, KEY: "any", CODEX_CA_CERTIFICATE: `${process.cwd()}/cert.pem` };
  const args = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Say hello."];
  await new Promise((done) => spawn(`${process.cwd()}/node_modules/.bin/codex`, args, { cwd: home, env, stdio: ["ignore", "ignore", "inherit"], timeout: 60000 }).on("close", done));
};
await run(false);
console.log(`over HTTP: ${steps.map(([step]) => step).join(", ")}`);
await run(true);
console.log(`over a WebSocket: ${steps.map(([step]) => step).join(", ")}`);
console.log(`the request came after the late answer: ${steps.at(-1)[1] >= late && late > 0}`);
process.exit();
JS
npm install --no-audit --no-fund --loglevel=error @openai/codex@0.171.0 ws@8.18.3 >/dev/null

node main.mjs 2>log | tee seen
diff seen - <<'WANT' || { cat log; exit 1; }
over HTTP: request
over a WebSocket: upgrade, prepare, request
the request came after the late answer: true
WANT
