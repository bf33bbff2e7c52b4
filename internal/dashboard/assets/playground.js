// The playground: what is said goes to one or two models, each answer streams
// into its pane, with what it cost below it. The words are those of
// POST /v1/chat/completions.
const form = document.getElementById("play");
const said = document.getElementById("said");
const field = (id) => document.getElementById(id);
const send = form.querySelector("[data-send]");
const stop = form.querySelector("[data-stop]");
const panes = [...form.querySelectorAll("[data-pane]")].map((element) => ({
  model: element.querySelector("[data-model]"),
  talk: element.querySelector("[data-talk]"),
  turns: [],
}));
let running = null; // AbortController of the answers under way

form.hidden = false;

// body is the request of a pane.
function body(pane, turns) {
  const system = field("system").value.trim();
  const request = {
    model: pane.model.value.trim(),
    messages: [...(system ? [{ role: "system", content: system }] : []), ...turns],
    stream: true,
    stream_options: { include_usage: true },
  };
  for (const [id, name] of [["temperature", "temperature"], ["top-p", "top_p"], ["max", "max_tokens"]]) {
    if (field(id).value !== "") request[name] = Number(field(id).value);
  }
  if (field("tools").value.trim() !== "") request.tools = JSON.parse(field("tools").value);
  return request;
}

function say(pane, kind, text) {
  const line = document.createElement("p");
  line.className = kind;
  line.textContent = text;
  pane.talk.append(line);
  pane.talk.scrollTop = pane.talk.scrollHeight;
  return line;
}

// pieces yields the JSON of each event of a stream.
async function* pieces(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data: ") && line !== "data: [DONE]") yield JSON.parse(line.slice(6));
    }
  }
}

const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

const number = (n) => n.toLocaleString("en");

function figures(usage, first, took) {
  const parts = [];
  if (first) parts.push(`first token after ${seconds(first)}`);
  parts.push(`done after ${seconds(took)}`);
  if (usage) {
    parts.push(`${number(usage.prompt_tokens)} tokens in, ${number(usage.completion_tokens)} out`);
    if (first && took > first) parts.push(`${number(Math.round((usage.completion_tokens * 1000) / (took - first)))} tokens/s`);
  }
  return parts.join(" · ");
}

// charge puts what a request cost, with a link to its page, behind the figures.
async function charge(line, id) {
  const path = `${form.dataset.requests}/${id}`;
  const answer = await fetch(`${path}/cost`).then((r) => (r.ok ? r.json() : null)).catch(() => null);
  const link = document.createElement("a");
  link.href = path;
  link.textContent = answer ? answer.Value : "Request";
  if (answer) link.title = answer.Note;
  line.append(" · ", link);
}

// mostCalls bounds the tool calls of an answer, and their indexes.
const mostCalls = 1000;

// called adds the pieces of tool calls, which come by index, to those so far, a Map. A provider may send any index.
function called(calls, pieces) {
  for (const piece of Array.isArray(pieces) ? pieces : []) {
    const index = piece?.index ?? 0;
    if (!Number.isInteger(index) || index < 0 || index >= mostCalls) throw new Error("The index of a tool call from the provider is not a number from 0 to 999.");
    if (!calls.has(index)) calls.set(index, { id: "", type: "function", function: { name: "", arguments: "" } });
    const call = calls.get(index);
    call.id ||= piece?.id ?? "";
    call.function.name += piece?.function?.name ?? "";
    call.function.arguments += piece?.function?.arguments ?? "";
  }
}

// next is what follows the turns: the result of the tools that the model called last, or what somebody says.
function next(turns, text, images) {
  const parts = images.map((image) => ({ type: "image_url", image_url: { url: image.url } }));
  const results = turns.at(-1)?.tool_calls?.map((call) => ({ role: "tool", tool_call_id: call.id, content: text }));
  if (results) return parts.length ? [...results, { role: "user", content: parts }] : results;
  return [{ role: "user", content: parts.length ? [{ type: "text", text }, ...parts] : text }];
}

// listen shows the answer of a response as it comes, and returns it with its usage.
async function listen(pane, response, line, began) {
  const calls = new Map();
  let first = 0;
  let usage = null;
  for await (const piece of pieces(response)) {
    if (piece.error) throw new Error(piece.error.message);
    const delta = piece.choices?.[0]?.delta ?? {};
    called(calls, delta.tool_calls);
    if (delta.content || delta.tool_calls) first ||= performance.now() - began;
    line.textContent += delta.content ?? "";
    pane.talk.scrollTop = pane.talk.scrollHeight;
    usage = piece.usage ?? usage;
  }
  const made = [...calls.keys()].sort((a, b) => a - b).map((index) => calls.get(index));
  for (const call of made) say(pane, "call", `${call.function.name}(${call.function.arguments})`);
  const turn = { role: "assistant", content: line.textContent };
  if (made.length) Object.assign(turn, { content: turn.content || null, tool_calls: made });
  return { turn, figures: figures(usage, first, performance.now() - began) };
}

// ask sends what a pane is asked and shows the answer as it comes.
async function ask(pane, text, images, signal) {
  const turns = [...pane.turns, ...next(pane.turns, text, images)];
  say(pane, "asked", [text, ...images.map((image) => image.name)].join("\n"));
  const line = say(pane, "answer", "");
  const began = performance.now();
  try {
    const response = await fetch(form.action, {
      method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body(pane, turns)),
    });
    if (!(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
      const answer = await response.json().catch(() => ({}));
      throw new Error(answer.error?.message ?? `The gateway answered with status ${response.status}.`);
    }
    const heard = await listen(pane, response, line, began);
    pane.turns = [...turns, heard.turn];
    await charge(say(pane, "figures", heard.figures), response.headers.get("X-Request-Id"));
  } catch (error) {
    if (signal.aborted) say(pane, "failed", "Stopped.");
    else if (error instanceof SyntaxError) say(pane, "failed", "The tools, or the answer of the provider, are not valid JSON. Correct the tools.");
    else say(pane, "failed", error.message);
  }
  if (line.textContent === "") line.remove();
}

// chosen are the images to send, as data URLs.
async function chosen() {
  const files = [...field("images").files];
  if (files.reduce((sum, file) => sum + file.size, 0) > 8 << 20) throw new Error("The images have more than 8 MB. Choose fewer or smaller ones.");
  return Promise.all(files.map((file) => new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, url: reader.result });
    reader.onerror = () => reject(new Error(`${file.name} cannot be read. Choose it again.`));
    reader.readAsDataURL(file);
  })));
}

function busy(is) {
  send.disabled = is;
  stop.hidden = !is;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return;
  const text = field("say").value;
  running = new AbortController();
  busy(true);
  try {
    const images = await chosen();
    field("say").value = "";
    field("images").value = "";
    await Promise.all(panes.filter((pane) => pane.model.value.trim() !== "").map((pane) => ask(pane, text, images, running.signal)));
  } catch (error) {
    say(panes[0], "failed", error.message);
  }
  running = null;
  busy(false);
  field("say").focus();
});

field("say").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});

stop.addEventListener("click", () => running?.abort());

form.querySelector("[data-clear]").addEventListener("click", () => {
  running?.abort();
  for (const pane of panes) {
    pane.turns = [];
    pane.talk.replaceChildren();
  }
  field("say").focus();
});

// quoted is a text as a shell takes it.
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

form.querySelector("[data-curl]").addEventListener("click", async (event) => {
  const text = field("say").value;
  const turns = [...panes[0].turns, ...(text ? next(panes[0].turns, text, []) : [])];
  const command = `curl ${form.dataset.base}/v1/chat/completions \\\n  -H "Authorization: Bearer $WEIR_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d ${quoted(JSON.stringify(body(panes[0], turns)))}`;
  try {
    await navigator.clipboard.writeText(command);
    event.target.textContent = "Copied";
    said.textContent = "Copied";
    setTimeout(() => { event.target.textContent = "Copy as curl"; }, 2000);
  } catch {
    say(panes[0], "answer", command); // plain http beyond this machine: to be selected by hand
  }
});
