// Realtime sessions by OpenAI's own classes over TLS, because these speak nothing else. The ledger must have each
// response.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { openTLS } from "./tls.mjs";

const run = promisify(execFile);
const program = fileURLToPath(new URL("./realtime-talk.mjs", import.meta.url));

/** Talks by each class, and compares the ledger of the gateway with the simulator's. */
export async function realtime(t, gateway) {
  const { server, cert, url } = await openTLS(gateway, gateway.dir);
  try {
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: cert, WEIR_URL: `${url}/v1`, WEIR_KEY: gateway.key, WEIR_PROVIDER: "openai" };
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
