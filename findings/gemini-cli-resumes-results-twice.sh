#!/usr/bin/env bash
# Google's Gemini CLI, @google/gemini-cli 0.61.0, sends every result of a tool twice when it resumes a session (--resume): it
# keeps a result with its call and once more as the user's turn that it sent, and puts both into one turn. Google asks for as
# many functionResponse parts as there are functionCall parts in the turn before
# (https://github.com/google-gemini/gemini-cli/issues/5443). So a gateway sees a call with two results of one id, also from a
# client of the vendor's own.
#
# Output seen on 2026-11-29:
#   first run: model functionCall, user functionResponse; ids 1
#   resumed: model functionCall, user functionResponse+functionResponse, model text, user text; ids 1
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

// The turns of the last request, from the first of the model on, and how many ids their results have.
let turns = "";
const kinds = (c) => c.parts.map((p) => Object.keys(p).find((k) => k !== "thoughtSignature")).join("+");
const answer = (contents) => {
  const called = contents.some((c) => c.parts.some((p) => p.functionCall));
  const part = called ? { text: "An empty folder." } : { functionCall: { name: "list_directory", args: { dir_path: "." } } };
  return { candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: [part] } }] };
};
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (d) => (body += d)).on("end", () => {
    const { contents } = JSON.parse(body);
    const results = contents.flatMap((c) => c.parts).filter((p) => p.functionResponse);
    const ids = new Set(results.map((p) => p.functionResponse.id));
    turns = contents.slice(contents.findIndex((c) => c.role === "model")).map((c) => `${c.role} ${kinds(c)}`).join(", ") + `; ids ${ids.size}`;
    response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${JSON.stringify(answer(contents))}\n\n`);
  });
}).listen(0, "127.0.0.1", async () => {
  mkdirSync("home/.gemini", { recursive: true });
  mkdirSync("work");
  const settings = { security: { auth: { selectedType: "gemini-api-key" } }, privacy: { usageStatisticsEnabled: false } };
  writeFileSync("home/.gemini/settings.json", JSON.stringify(settings));
  const env = {
    PATH: process.env.PATH, HOME: `${process.cwd()}/home`, GEMINI_API_KEY: "any", GEMINI_CLI_TRUST_WORKSPACE: "true",
    GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${server.address().port}`,
  };
  const run = (...more) =>
    new Promise((done) => {
      const args = ["-m", "gemini-2.5-flash", "--approval-mode", "yolo", ...more];
      spawn("../node_modules/.bin/gemini", args, { cwd: "work", env, stdio: ["ignore", "ignore", "inherit"] }).on("close", done);
    });
  await run("-p", "What is here?");
  console.log(`first run: ${turns}`);
  await run("--resume", "latest", "-p", "Go on.");
  console.log(`resumed: ${turns}`);
  server.closeAllConnections();
  server.close();
});
JS
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @google/gemini-cli@0.61.0 >/dev/null

node main.mjs 2>log | tee seen
diff seen - <<'WANT' || { cat log; exit 1; }
first run: model functionCall, user functionResponse; ids 1
resumed: model functionCall, user functionResponse+functionResponse, model text, user text; ids 1
WANT
