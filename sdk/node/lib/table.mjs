// The table in docs/compatibility.md, from the outcomes of the cells alone.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";

const page = new URL("../../../docs/compatibility.md", import.meta.url);
const begin = "<!-- node:begin -->\n";
const end = "<!-- node:end -->\n";

/** Holds the page against the cells. */
export async function compare(cells, ends, sources) {
  const { inside } = await read();
  assert.equal(inside, await render(cells, ends, sources), "docs/compatibility.md is not what the SDKs did: see the difference, and write it with `npm test -- --update` in sdk/node");
}

/** Writes the cells into the page. */
export async function write(cells, ends, sources) {
  const { before, behind } = await read();
  await writeFile(page, before + (await render(cells, ends, sources)) + behind);
}

async function read() {
  const text = await readFile(page, "utf8");
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end);
  assert.ok(from >= begin.length && to >= from, `docs/compatibility.md needs the lines ${begin}and ${end}`);
  return { before: text.slice(0, from), inside: text.slice(from, to), behind: text.slice(to) };
}

async function render(cells, ends, sources) {
  const notes = []; // reasons, in the order in which they are first met
  const parts = [];
  for (const [client, rows] of group(cells, (c) => c.client)) {
    parts.push(`### ${await title(client)}\n\n${section(rows, notes)}`);
  }
  parts.push(`### How answers end\n\n${await byClient(ends.rows, notes)}`);
  parts.push(`### Sources\n\n${await byClient(sources.rows, notes)}`);
  const reasons = notes.map((reason, i) => `${i + 1}. ${reason}\n`).join("");
  return `\n${parts.join("\n")}\n${reasons}\n`;
}

function section(cells, notes) {
  const columns = [...new Set(cells.map((c) => c.feature.name))];
  const lines = [`| provider | ${columns.join(" | ")} |`, "|---".repeat(columns.length + 1) + "|"];
  for (const [provider, row] of group(cells, (c) => c.provider)) {
    lines.push(`| ${provider} | ${row.map((cell) => word(cell, notes)).join(" | ")} |`);
  }
  return lines.join("\n") + "\n";
}

async function byClient(rows, notes) {
  const columns = [...new Set(rows.flatMap((row) => row.cells.map((c) => c.feature)))];
  const lines = [`| client | ${columns.join(" | ")} |`, "|---".repeat(columns.length + 1) + "|"];
  for (const row of rows) {
    const words = columns.map((name) => row.cells.find((c) => c.feature === name)).map((c) => (c ? word(c, notes) : ""));
    lines.push(`| ${[await title(row), row.how].filter(Boolean).join(", ")} | ${words.join(" | ")} |`);
  }
  return lines.join("\n") + "\n";
}

function word(cell, notes) {
  if (!cell.reason) return cell.outcome;
  if (!notes.includes(cell.reason)) notes.push(cell.reason);
  return `${cell.outcome} (${notes.indexOf(cell.reason) + 1})`;
}

// title is the packages of a client with their versions, and its api.
async function title(client) {
  const packages = await Promise.all(client.name.split(", ").map(async (name) => `${name} ${await version(name)}`));
  return `${packages.join(", ")} at \`${client.api}\``;
}

async function version(name) {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(await readFile(file, "utf8")).version;
}

function group(list, key) {
  const groups = new Map();
  for (const item of list) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}
