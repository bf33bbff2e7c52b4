// A provider that plays the models of agents: in each of ten turns it asks for two files at once, without ids of the calls
// in Google's format, and then says that it is done. It thinks before it calls, with a signature where the vendor signs. It
// notes what is wrong with what it gets; what the strict simulator of the vendor refuses, it refuses. A request's path
// begins with the run and the vendor: /RUN/VENDOR/…
import { createServer } from "node:http";

import { formats } from "./formats.mjs";
import { refusal, thinking } from "./strict.mjs";
import { vendors } from "./vendors.mjs";

export const turns = 10;
const patience = 60; // requests; an agent that asks more goes round in circles
const away = 3; // the turn after which another vendor's model goes on
const back = 8; // the turn after which the first one does
const pause = 5; // the first turn after which an agent that compacts between two prompts alone may have the second

/** A run is one agent that begins before one vendor. */
class Run {
  turn = 0;
  requests = 0;
  problems = [];
  seen = new Set(); // what of the task came: picture, PDF, compaction
  thought = new Set(); // the vendors whose models showed their thinking
  finished = false;
  paused = false;
  told = Infinity; // the turn in which the model said that the context is full

  constructor(files, task) {
    this.files = files; // each with a path and the word in it
    this.task = task;
  }

  /** What the model says to a request. */
  async answer(q) {
    this.requests++;
    for (const [what, begin] of Object.entries(begins)) if (begin.test(q.all)) this.seen.add(what);
    if (this.requests > patience) return { text: "I give up.", problem: this.problem("it goes round in circles") };
    const tool = choose(q.tools);
    if (summary.test(q.last) || (this.turn >= this.told && !tool)) {
      this.seen.add("compaction");
      return { text: "<summary>The files are being read, one after the other.</summary>", input: this.task.full }; // it had all of it
    }
    if (!tool) return { text: q.wantsJSON ? "{}" : "Reading files" }; // a title, or the like
    this.check(q);
    if (this.turn === turns) {
      this.finished = true;
      return { text: `DONE ${this.task.token}`, input: 5000 };
    }
    if (this.task.again && this.turn >= pause && q.vendor.name !== this.task.again.not && !this.paused) {
      this.paused = true;
      this.told = this.turn;
      return { text: "Go on.", input: this.task.full };
    }
    const two = this.files.slice(2 * this.turn, 2 * this.turn + 2);
    this.turn++;
    if (this.turn === away) await this.task.change(true);
    if (this.turn === back) await this.task.change(false);
    const full = this.task.full && this.turn === 6 && this.told === Infinity;
    if (full) this.told = this.turn; // from here on agents leave out what is old
    return { calls: two.map((f) => ({ name: tool.name, args: argumentsOf(tool, f.path) })), input: full ? this.task.full : 5000 };
  }

  // The words of the files that were asked for are in the results, unless a compaction has taken them away.
  check(q) {
    const asked = this.files.slice(0, 2 * this.turn);
    const wanted = this.turn < this.told ? asked : this.turn === this.told ? [] : asked.slice(-2);
    const missing = wanted.filter((f) => f.word && !q.all.includes(f.word));
    if (missing.length) this.problem(`turn ${this.turn}: no result of ${missing.map((f) => f.name).join(", ")}`);
    const twice = q.ids.filter((id, i) => q.ids.indexOf(id) !== i);
    if (twice.length) this.problem(`turn ${this.turn}: two calls have the id ${twice[0]}`);
    const right = this.turn >= away && this.turn < back ? this.task.second : this.task.first;
    if (q.vendor !== right) this.problem(`turn ${this.turn}: ${q.vendor.title} was asked, not ${right.title}`);
  }

  problem(text) {
    if (!this.problems.includes(text)) this.problems.push(text);
  }
}

// How files begin in base64: agents make pictures anew, as PNG, JPEG or WebP.
const begins = { picture: /[",]iVBORw0KGgo|[",]\/9j\/|[",]UklGR/, PDF: /[",]JVBERi0/ };

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

/** Starts it before a strict simulator; run() makes a run. */
export async function openUpstream(simulator) {
  const runs = new Map();
  const thought = await thinking(simulator);
  const serve = async (request, response) => {
    let text = "";
    for await (const data of request) text += data;
    const [, name, of, path] = /^\/([^/]+)\/([^/]+)(\/.*)$/.exec(request.url) ?? [];
    const run = runs.get(name);
    const vendor = vendors.find((v) => v.name === of);
    const format = formats.find((f) => f.path.test(path));
    if (!run || !vendor || !format) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"no such model"}}');
      return;
    }
    const body = JSON.parse(text);
    const refused = await refusal(simulator, vendor, format, path, body);
    if (refused) {
      run.problem(`${vendor.title} refuses: ${refused.text}`);
      response.writeHead(refused.status, { "content-type": refused.type }).end(refused.text);
      return;
    }
    const answer = { input: 1000, calls: [], ...(await run.answer({ ...format.read(body), vendor })) };
    if (answer.calls.length && format.thinks(body, vendor)) {
      answer.thought = thought;
      run.thought.add(vendor.title);
    }
    const stream = format.streams(path, body);
    response.writeHead(200, { "content-type": stream ? format.type ?? "text/event-stream" : "application/json" });
    response.end(stream ? format.stream(answer, run.requests, vendor) : JSON.stringify(format.whole(answer, run.requests, vendor)));
  };
  const server = createServer((request, response) =>
    serve(request, response).catch((error) => {
      runs.get(request.url.split("/")[1])?.problem(`the script fails: ${error.message}`);
      response.destroy();
    }),
  );
  server.keepAliveTimeout = 600_000; // ms: a connection that ends while it is taken again would be a failure of its own
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    run(name, files, task) {
      runs.set(name, new Run(files, task));
      return runs.get(name);
    },
  };
}
