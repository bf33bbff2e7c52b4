// The outcomes of ends.mjs, and which of them are known not to be right.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import assert from "node:assert/strict";

// Faults that are known. One that is mended has to be taken out: its cell fails until then.
const known = [
  {
    features: ["calls in turns"],
    clients: /^openai \/v1\/chat\/completions events/,
    why: "The SDK's runner takes a call for whole when another begins, and the bytes of a provider of the same wire format pass.",
  },
];

export class Ends {
  rows = [];

  start(gateway) {
    const program = fileURLToPath(new URL("ends.mjs", import.meta.url));
    this.told = promisify(execFile)(process.execPath, [program, gateway.url, gateway.key], { maxBuffer: 1 << 24 });
    this.told.catch(() => {}); // hold() throws it
  }

  async hold(test) {
    this.rows = JSON.parse((await this.told).stdout);
    assert.ok(this.rows.length > 0);
    for (const row of this.rows) {
      for (const cell of row.cells) {
        await test.test(`${row.name} at ${row.api}, ${row.how}: ${cell.feature}`, () => judge(row, cell));
      }
    }
  }
}

function judge(row, cell) {
  const fault = known.find((k) => k.features.includes(cell.feature) && k.clients.test(`${row.name} ${row.api} ${row.how}`));
  if (!fault) return assert.equal(cell.outcome, "yes", cell.error);
  assert.notEqual(cell.outcome, "yes", `this is right now: take the fault "${fault.why}" out of the list`);
  Object.assign(cell, { outcome: "no", reason: fault.why });
}
