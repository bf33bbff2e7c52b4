// Counts texts and requests by published vocabularies. Each line of the input is a question, each of the output its
// answer, in the same order:
//   {"tokens": true}              {"lists": {"qwen3": ["!", …], …}}, all tokens that are texts
//   {"text": "…", "in": [NAME]}   {"counts": {"qwen3": 7, …}}, in some vocabularies or in all
//   {"body": "…"}                 {"renderings": [{"by": "lines", "in": "qwen3", "tokens": 70, "around": 12}, …]},
//                                 with the tokens that the same request has without texts and tools
import { createInterface } from "node:readline";

import { bare, renderings } from "./render.mjs";
import { vocabularies } from "./vocabularies.mjs";

const all = vocabularies();
const preambles = new Map();

// preamble is how many tokens a rendering has of a request without texts.
function preamble(render, v, body) {
  const empty = bare(body);
  const key = render.name + v.name + JSON.stringify(empty);
  if (!preambles.has(key)) preambles.set(key, v.count(render.text(empty)));
  return preambles.get(key);
}

// refused is undefined for what a template refuses: a server answers with 400, and counts nothing.
function refused(render) {
  try {
    return render();
  } catch {
    return undefined;
  }
}

function* rendered(body) {
  for (const render of renderings(all)) {
    const text = refused(() => render.text(body));
    if (text === undefined) continue;
    for (const v of all.filter((v) => render.of(v))) {
      yield { by: render.name, in: v.name, tokens: v.count(text), around: preamble(render, v, body) };
    }
  }
}

function answer(q) {
  if (q.tokens) return { lists: Object.fromEntries(all.map((v) => [v.name, v.tokens()])) };
  if (q.body !== undefined) return { renderings: [...rendered(JSON.parse(q.body))] };
  const some = all.filter((v) => !q.in || q.in.includes(v.name));
  return { counts: Object.fromEntries(some.map((v) => [v.name, v.count(q.text)])) };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
}
