// The playground: what is said goes to one or two models, each answer streams
// into its pane. The words are those of POST /v1/chat/completions.
const form = document.getElementById("play");
const said = document.getElementById("said");
const field = (id) => document.getElementById(id);
const send = form.querySelector("[data-send]");
const stop = form.querySelector("[data-stop]");
const panes = [...form.querySelectorAll("[data-pane]")].map((element) => ({
  model: element.querySelector("[data-model]"),
  talk: element.querySelector("[data-talk]"),
  figures: element.querySelector("[data-figures]"),
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

function figures(pane, usage, first, took) {
  const parts = [];
  if (first) parts.push(`first token after ${seconds(first)}`);
  parts.push(`done after ${seconds(took)}`);
  if (usage) {
    parts.push(`${number(usage.prompt_tokens)} tokens in, ${number(usage.completion_tokens)} out`);
    if (first && took > first) parts.push(`${number(Math.round((usage.completion_tokens * 1000) / (took - first)))} tokens/s`);
    if (usage.cost !== undefined && usage.cost !== null) parts.push(`$${usage.cost}`);
  }
  pane.figures.textContent = parts.join(" · ");
}

// ask sends what a pane is asked and shows the answer as it comes.
async function ask(pane, text, signal) {
  const turns = [...pane.turns, { role: "user", content: text }];
  say(pane, "asked", text);
  const line = say(pane, "answer", "");
  pane.figures.textContent = "";
  const began = performance.now();
  let first = 0;
  let usage = null;
  try {
    const response = await fetch(form.action, {
      method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body(pane, turns)),
    });
    if (!(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
      const answer = await response.json().catch(() => ({}));
      throw new Error(answer.error?.message ?? `The gateway answered with status ${response.status}.`);
    }
    for await (const piece of pieces(response)) {
      if (piece.error) throw new Error(piece.error.message);
      const delta = piece.choices?.[0]?.delta?.content;
      if (delta) {
        first ||= performance.now() - began;
        line.textContent += delta;
        pane.talk.scrollTop = pane.talk.scrollHeight;
      }
      usage = piece.usage ?? usage;
    }
    pane.turns = [...turns, { role: "assistant", content: line.textContent }];
    figures(pane, usage, first, performance.now() - began);
  } catch (error) {
    if (signal.aborted) say(pane, "failed", "Stopped.");
    else say(pane, "failed", error.message);
    if (line.textContent === "") line.remove();
  }
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
  field("say").value = "";
  await Promise.all(panes.filter((pane) => pane.model.value.trim() !== "").map((pane) => ask(pane, text, running.signal)));
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
    pane.figures.textContent = "";
  }
  field("say").focus();
});

// quoted is a text as a shell takes it.
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

form.querySelector("[data-curl]").addEventListener("click", async (event) => {
  const text = field("say").value;
  const turns = [...panes[0].turns, ...(text ? [{ role: "user", content: text }] : [])];
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
