#!/usr/bin/env bash
# npm @google/genai 3.3.0 sends the key of a Live session in the address and in no header, while its other requests have
# it in a header. With a base URL the path begins with two slashes. So a proxy must take the key from the query, where
# access logs have it, and "//ws/" for "/ws/".
#
# Output seen on 2026-11-30, with Node 20:
#   //ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent?key=secret
#   key in a header: false
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @google/genai@3.3.0 >/dev/null 2>&1
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=localhost \
	-addext subjectAltName=DNS:localhost 2>/dev/null

cat >server.mjs <<'JS'
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";

const server = createServer({ cert: readFileSync("cert.pem"), key: readFileSync("key.pem") });
server.on("upgrade", (r, socket) => {
  console.log(r.url);
  console.log("key in a header:", JSON.stringify(r.headers).includes("secret"));
  socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n");
});
server.listen(0, "127.0.0.1", () => {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: "cert.pem", ADDRESS: `https://localhost:${server.address().port}` };
  spawn(process.execPath, ["client.mjs"], { env }).on("exit", () => server.close());
});
JS
cat >client.mjs <<'JS'
import { GoogleGenAI } from "@google/genai";
const client = new GoogleGenAI({ apiKey: "secret", httpOptions: { baseUrl: process.env.ADDRESS } });
await client.live.connect({ model: "m", callbacks: { onmessage() {} } }).catch(() => process.exit(0));
JS
node server.mjs | tee seen
diff seen - <<'WANT'
//ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent?key=secret
key in a header: false
WANT
