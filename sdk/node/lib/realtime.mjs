// Realtime sessions by OpenAI's own classes over TLS, because these speak nothing else. The ledger must have each
// response.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const program = fileURLToPath(new URL("./realtime-talk.mjs", import.meta.url));

/** Passes TLS connections on to the gateway. */
async function openTLS(gateway) {
  const cert = join(gateway.dir, "talk.pem");
  const key = join(gateway.dir, "talk.key");
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert, ...subject]);
  const { hostname, port } = new URL(gateway.url);
  const server = createServer({ cert: await readFile(cert), key: await readFile(key) }, (from) => {
    const to = connect(Number(port), hostname);
    from.pipe(to).pipe(from);
    for (const socket of [from, to]) socket.on("error", () => {}).on("close", () => (from.destroy(), to.destroy()));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, cert, url: `https://localhost:${server.address().port}/v1` };
}

/** Talks by each class, and compares the ledger of the gateway with the simulator's. */
export async function realtime(t, gateway) {
  const { server, cert, url } = await openTLS(gateway);
  try {
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: cert, WEIR_URL: url, WEIR_KEY: gateway.key, WEIR_PROVIDER: "openai" };
    const { stdout } = await run(process.execPath, [program], { env, timeout: 60_000 });
    t.diagnostic(stdout.trim());
    const records = [...(await gateway.records("echo:sound=1s")), ...(await gateway.records("tools:sound=1s"))];
    const served = records.filter((r) => r.dialect === "realtime");
    let rows = [];
    for (let tries = 0; rows.length !== served.length && tries < 20; tries++) { // the database follows the journal
      const lines = (await gateway.weir("ledger", "export", "--format", "csv")).trim().split("\n");
      rows = lines.filter((line) => line.includes("openai/echo:sound=1s") || line.includes("openai/tools:sound=1s"));
    }
    assert.equal(rows.length, served.length);
    assert.ok(served.length >= 44, `${served.length} responses`);
  } finally {
    server.close();
  }
}
