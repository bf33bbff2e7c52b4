// The table of docs/compatibility.md.
import { readFileSync, writeFileSync } from "node:fs";

const begin = "<!-- agents:begin -->\n";
const end = "<!-- agents:end -->";

/** Writes it: told is a word for each agent and vendor. */
export function write(page, agents, vendors, told) {
  const text = readFileSync(page, "utf8");
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end);
  if (from < begin.length || to < from) throw new Error(`${page} has no lines ${begin}`);
  const lacks = (one) => [...new Set(Object.values(one.lacks ?? {}))];
  const notes = [...new Set([...vendors, ...agents].flatMap(lacks))];
  const noted = (name, one) => name + (lacks(one).length ? `<sup>${lacks(one).map((why) => notes.indexOf(why) + 1).join(", ")}</sup>` : "");
  const rows = agents.map((agent, i) => {
    return `| ${noted(`${agent.name} ${agent.version}`, agent)} | ${agent.api} | ${told.slice(i * vendors.length, (i + 1) * vendors.length).join(" | ")} |`;
  });
  const day = new Date().toISOString().slice(0, 10);
  const head = `| agent, on ${day} | client API | ${vendors.map((v) => noted(v.title, v)).join(" | ")} |\n${"|---".repeat(2 + vendors.length)}|`;
  const list = notes.map((note, i) => `${i + 1}. ${note}`);
  writeFileSync(page, `${text.slice(0, from)}\n${[head, ...rows].join("\n")}\n\n${list.join("\n")}\n\n${text.slice(to)}`);
}
