// A provider of four wire formats that plays the model of an agent: in each of ten turns it asks for two files at once,
// in Google's format without ids of the calls, and then says that it is done. It notes what is wrong with what it gets.
// A model's name is a run's: everything it knows of a run is by that name.
import { createServer } from "node:http";

import { formats } from "./formats.mjs";

export const turns = 10;
const patience = 60; // requests; an agent that asks more goes round in circles

/** A run is one agent before one wire format. */
class Run {
  turn = 0;
  requests = 0;
  problems = [];
  compactions = 0;
  finished = false;
  told = false; // that the context is full
  shown = false; // the picture, or the document, came

  constructor(files, task) {
    this.files = files; // each with a path and the word in it
    this.task = task;
  }

  /** What the model says to a request. */
  answer(q) {
    this.requests++;
    if (q.all.includes(this.task.picture)) this.shown = true;
    if (this.requests > patience) return { text: "I give up.", problem: this.problem("it goes round in circles") };
    const tool = choose(q.tools);
    if (summary.test(q.last) || (this.told && !tool)) {
      this.compactions++;
      return { text: "<summary>The files are being read, one after the other.</summary>" };
    }
    if (!tool) return { text: q.wantsJSON ? "{}" : "Reading files" }; // a title, or the like
    this.check(q);
    if (this.turn === turns) {
      this.finished = true;
      return { text: `DONE ${this.task.token}`, input: 5000 };
    }
    const two = this.files.slice(2 * this.turn, 2 * this.turn + 2);
    this.turn++;
    const full = this.task.full && this.turn === 6 && !this.told;
    this.told ||= full; // from here on agents leave out what is old
    return { calls: two.map((f) => ({ name: tool.name, args: argumentsOf(tool, f.path) })), input: full ? this.task.full : 5000 };
  }

  // The words of the files that were asked for are in the results, unless a compaction, before turn 7, has taken them away.
  check(q) {
    const asked = this.files.slice(0, 2 * this.turn);
    const wanted = !this.told ? asked : this.turn === 6 ? [] : asked.slice(-2);
    const missing = wanted.filter((f) => f.word && !q.all.includes(f.word));
    if (missing.length) this.problem(`turn ${this.turn}: no result of ${missing.map((f) => f.name).join(", ")}`);
    const twice = q.ids.filter((id, i) => q.ids.indexOf(id) !== i);
    if (twice.length) this.problem(`turn ${this.turn}: two calls have the id ${twice[0]}`);
  }

  problem(text) {
    if (!this.problems.includes(text)) this.problems.push(text);
  }
}

// The words with which agents ask for a summary in place of what was said.
const summary = /create a (detailed |new )?(anchored )?summary of|CONTEXT CHECKPOINT COMPACTION|state_snapshot|detailed prompt for continuing/i;

// The tool with which an agent reads a file.
const readers = ["Read", "read_file", "read", "view", "exec_command", "shell", "shell_command", "local_shell", "bash", "Bash", "run_shell_command", "look_up"];
const choose = (tools) => readers.map((name) => tools.find((t) => t.name === name)).find(Boolean);

function argumentsOf(tool, path) {
  const args = {};
  for (const [name, schema] of Object.entries(tool.schema?.properties ?? {})) {
    if (/^(file_?path|absolute_path|path)$/i.test(name)) args[name] = path;
    else if (/^(command|cmd)$/.test(name)) args[name] = schema.type === "array" ? ["cat", path] : `cat ${path}`;
    else if (tool.schema.required?.includes(name)) args[name] = schema.type === "string" ? "Read a file" : schema.type === "boolean" ? false : 0;
  }
  return args;
}

/** Starts it; run() makes a run. */
export async function openUpstream() {
  const runs = new Map();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const data of request) text += data;
    const format = formats.find((f) => request.url.startsWith(`/${f.name}/`));
    const body = JSON.parse(text || "{}");
    const model = format?.model(request.url, body);
    const run = runs.get(model);
    if (!run || /countTokens|count_tokens/.test(request.url)) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"no such model"}}');
      return;
    }
    const q = format.read(body);
    const answer = { input: 1000, calls: [], ...run.answer(q) };
    const stream = format.streams(request.url, body);
    response.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" });
    response.end(stream ? format.stream(answer, run.requests) : JSON.stringify(format.whole(answer, run.requests)));
  });
  server.keepAliveTimeout = 600_000; // ms: a connection that ends while it is taken again would be a failure of its own
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    run(model, files, task) {
      runs.set(model, new Run(files, task));
      return runs.get(model);
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
