// How answers end, as applications see it: each SDK before a provider that cuts a stream, breaks a generation off,
// refuses late, is silent, has pieces of parallel calls take turns, or answers 429 or too late. The process is one of its
// own, since LangChain leaves rejections that nobody can catch; it runs beside the suite, as it waits more than it
// computes. Its arguments are the gateway's address and a key; it writes the outcomes as JSON.
import assert from "node:assert/strict";

import { clients } from "../clients/ends.mjs";
import { scripted, scriptedAlias, scriptedAs } from "./gateway.mjs";
import { toolArguments } from "./question.mjs";
import { cities, said } from "./script.mjs";

process.on("unhandledRejection", () => {});

const notices = (client, x) => assert.rejects(client.text(x), undefined, "the application gets a text, and no error");

/** The columns of the table. */
const cases = [
  { name: "cut", script: "cut", run: notices },
  { name: "broken off", script: "broken", run: notices },
  { name: "refused late", script: "refused", run: notices },
  { name: "silent", script: "silent", run: async (client, x) => assert.equal(await client.text(x), said) },
  { name: "calls in turns", script: "turns", run: turns },
  { name: "429", script: "429", run: notices },
  { name: "504", script: "504", run: notices },
];

async function turns(client, x) {
  const made = [];
  const got = await client.loop({ ...x, call: (args) => made.push(toolArguments.parse(args).city) && "sunny" });
  assert.deepEqual(made.toSorted(), cities, "arguments of the calls");
  assert.equal(got.text ?? got, said);
}

// Whether the application learns what it has to, before a provider of each wire format.
async function outcome(client, one, row) {
  const errors = await Promise.all(scripted.map((dialect) => fault(client, one, row, dialect)));
  const error = errors.filter(Boolean).join("\n");
  return error ? { outcome: "fails", error } : { outcome: "yes" };
}

async function fault(client, one, row, dialect) {
  const model = `${scriptedAs(dialect, one.script)}/${one.script}-${row}`;
  try {
    await within(60_000, one.run(client, { url, key, model, alias: scriptedAlias(dialect, one.script) }));
  } catch (error) {
    return `before ${dialect}: ${error.message}`;
  }
}

async function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`nothing within ${ms / 1000} s`)), ms)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const [url, key] = process.argv.slice(2);
const rows = clients.map(async ({ name, api, how }, row) => {
  const can = cases.filter((one) => one.name !== "calls in turns" || clients[row].loop);
  const cells = await Promise.all(can.map(async (one) => ({ feature: one.name, ...(await outcome(clients[row], one, row)) })));
  return { name, api, how, cells };
});
console.log(JSON.stringify(await Promise.all(rows)));
process.exit(0); // whatever an SDK still waits for
