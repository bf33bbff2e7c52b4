// Sessions by OpenAI's own Realtime classes and by Google's Live class over TLS, because these speak nothing else. The
// ledger must have each response.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { openTLS } from "./tls.mjs";

const run = promisify(execFile);
const program = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Talks by each class of OpenAI's, and compares the ledger of the gateway with the simulator's. */
export async function realtime(t, gateway) {
  const served = await talk(t, gateway, { name: "./realtime-talk.mjs", path: "/v1", provider: "openai", dialect: "realtime", models: ["echo:sound=1s", "tools:sound=1s"] });
  assert.ok(served >= 44, `${served} responses`);
}

/** Talks by Google's class, and compares the ledgers. */
export async function live(t, gateway) {
  assert.equal(await talk(t, gateway, { name: "./live-talk.mjs", path: "", provider: "gemini", dialect: "live", models: ["tools:sound=1s"] }), 6);
}

/** Runs a program, and returns how many responses both ledgers have. */
async function talk(t, gateway, { name, path, provider, dialect, models }) {
  const { server, cert, url } = await openTLS(gateway, gateway.dir);
  try {
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: cert, WEIR_URL: url + path, WEIR_KEY: gateway.key, WEIR_PROVIDER: provider };
    const { stdout } = await run(process.execPath, [program(name)], { env, timeout: 60_000 });
    t.diagnostic(stdout.trim());
    const records = (await Promise.all(models.map((model) => gateway.records(model)))).flat();
    const served = records.filter((r) => r.dialect === dialect);
    let rows = [];
    for (let tries = 0; rows.length !== served.length && tries < 20; tries++) { // the database follows the journal
      const lines = (await gateway.weir("ledger", "export", "--format", "csv")).trim().split("\n");
      rows = lines.filter((line) => models.some((model) => line.includes(`${provider}/${model}`)));
    }
    assert.equal(rows.length, served.length);
    return served.length;
  } finally {
    server.close();
  }
}
