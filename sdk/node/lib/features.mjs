// What programs do with a model, each thing once, for every client alike.
//
// A client is a table of functions: whole, stream, abortable, loop, structured,
// embed and count ask a model, told reads an error, broken and aborted know the SDK's
// words for a stream that fails and for an abort, and classes are its own error
// classes by status. The x that each gets says whom to ask: url, key,
// model, and a signal that may abort.
import assert from "node:assert/strict";

import { busy } from "./gateway.mjs";
import { imageTokens, longPrompt, nano, person, prompt, toolArguments } from "./question.mjs";

/** The features, in the order of the table's columns. */
export const features = [
  { name: "plain", run: plain },
  { name: "streaming", run: streaming },
  { name: "tool loop", run: (t) => loop(t, 1) },
  { name: "parallel tools", run: (t) => loop(t, 2) },
  { name: "structured output", run: structured },
  { name: "image inline", run: (t) => image(t, "inline") },
  { name: "image by URL", run: (t) => image(t, "address") },
  { name: "embedding", run: (t) => embed(t, ["one text"]), has: (client) => client.embed },
  { name: "embeddings at once", run: (t) => embed(t, ["one text", "another text"]), has: (client) => client.embed },
  { name: "token count", run: count, has: (client) => client.count },
  { name: "error classes", run: errors },
  { name: "error in a stream", run: errorsInStream },
  { name: "abort", run: abort },
];

async function plain(t) {
  const x = t.ask("echo");
  const got = await t.client.whole(x, { prompt });
  assert.equal(got.text, prompt);
  wantUsage(got, await t.served(x));
  if ("requestID" in got) assert.ok(got.requestID, "the SDK knows no request id");
}

async function streaming(t) {
  const x = t.ask("echo");
  const got = await t.client.stream(x, { prompt: longPrompt });
  assert.equal(x.pieces.join(""), longPrompt);
  const record = await t.served(x);
  assert.equal(x.pieces.length, record.pieces, "pieces got, want those that the provider sent, one by one");
  assert.ok(got.finished, "the stream did not say that it is finished");
  wantUsage(got, record);
}

// wantUsage holds what a client was told against what the provider served.
function wantUsage(got, record) {
  assert.deepEqual([got.input, got.output], [record.usage.input, record.usage.output], "tokens in and out");
  assert.equal(Math.round(got.cost * 1e9), nano.input * got.input + nano.output * got.output, "usage.cost in nano-dollars");
}

// loop has the model call a tool, answers, and wants the result in the end, whole
// and streamed.
async function loop(t, calls) {
  for (const stream of [false, true]) {
    const x = t.ask("tools", `calls=${calls}`);
    const made = [];
    x.call = (args) => {
      made.push(toolArguments.parse(args));
      return `sunny, ${made.length} of ${calls}`;
    };
    const got = await t.client.loop(x, { prompt, stream });
    assert.equal(made.length, calls, `calls of the tool, stream ${stream}`);
    assert.match(got.text, new RegExp(`sunny, ${calls} of ${calls}`), `stream ${stream}`);
    const answered = (await t.gateway.records(x.upstream)).filter((r) => r.outcome === "served");
    assert.equal(answered.length, 2, "answers of the provider");
    const [first, last] = answered;
    assert.ok(last.usage.input > first.usage.input, "the second request is without the conversation before it");
  }
}

async function structured(t) {
  person.parse(await t.client.structured(t.ask("json"), { prompt }));
}

async function image(t, form) {
  const x = t.ask("echo");
  const got = await t.client.whole(x, { prompt, image: form });
  const without = await t.client.whole(t.ask("echo"), { prompt });
  assert.equal(got.text, prompt);
  assert.equal(got.input - without.input, imageTokens, "tokens of the image");
}

// embed wants the same vectors as numbers and, where the SDK can ask for it, in
// base64, which holds numbers of 32 bits.
async function embed(t, input) {
  const x = t.ask("chat");
  const numbers = await t.client.embed(x, { input, base64: false });
  const packed = await t.client.embed(x, { input, base64: true });
  const vectors = numbers.vectors.map((v) => Array.from(v, Math.fround));
  assert.equal(vectors.length, input.length);
  assert.ok(vectors.every((v) => v.length > 1 && v.every(Number.isFinite)));
  assert.equal(new Set(vectors.map(String)).size, input.length, "vectors of other texts are others");
  assert.deepEqual(packed.vectors.map((v) => Array.from(v, Math.fround)), vectors);
  const record = await t.served(x, t.provider === "responses" ? "openai" : t.provider); // whose embeddings are the same
  for (const got of [numbers, packed]) {
    if ("input" in got) assert.equal(got.input, record.usage.input, "tokens");
    if ("cost" in got) assert.equal(Math.round(got.cost * 1e9), nano.input * record.usage.input, "usage.cost in nano-dollars");
  }
}

// count asks how long a request is: of the vendor's own kind of provider it has to
// be what the request is then charged for, of others it is an estimate.
async function count(t) {
  const got = await t.client.count(t.ask("echo"), { prompt });
  const charged = (await t.client.whole(t.ask("echo"), { prompt })).input;
  if (t.provider === t.client.vendor) assert.equal(got, charged, "tokens");
  assert.ok(Number.isInteger(got) && got > 0 && got < 2 * charged, `${got} tokens, charged are ${charged}`);
}

// errors wants the SDK's own class for each status, whether a stream was asked
// for or not.
async function errors(t) {
  const cases = [
    { status: 401, x: { ...t.ask("echo"), key: "wk_wrong" } },
    { status: 403, x: { ...t.ask("echo"), key: t.gateway.usesKey } },
    { status: 404, x: { ...t.ask("echo"), model: "nobody/model" } },
    { status: 400, x: { ...t.ask("echo"), model: `${t.provider}/` }, param: "model" },
    { status: 429, x: { ...t.ask("chat", "status=429", "retry_after=1"), provider: busy(t.provider) } },
    { status: 502, x: t.ask("chat", "status=500") },
  ];
  for (const { status, x, param } of cases) {
    if (x.provider) x.model = `${x.provider}/${x.upstream}`;
    for (const ask of [t.client.whole, t.client.stream]) {
      const error = await failure(ask.call(t.client, x, { prompt }));
      assert.ok(error instanceof t.client.classes[status], `want the class of ${status}: ${error.stack}`);
      const told = t.client.told(error);
      assert.equal(told.status, status);
      if (param) assert.equal(told.param, param);
      if ("requestID" in told) assert.ok(told.requestID, `${status}: the error has no request id`);
      assert.equal(x.pieces.length, 0);
    }
  }
}

// errorsInStream wants an answer that breaks off to be raised, not taken for a
// whole one.
async function errorsInStream(t) {
  for (const fault of ["cut", "eof", "error-event"]) {
    const x = t.ask("chat", `fault=${fault}`, "at=5");
    const error = await failure(t.client.stream(x, { prompt }), `fault=${fault}`);
    assert.ok(t.client.broken(error), `${fault}: ${error.stack}`);
    assert.ok(x.pieces.length >= 5, `${fault}: ${x.pieces.length} pieces before it, want 5`);
  }
}

// abort leaves before an answer, and in the middle of one; the provider has to
// see that, but for a whole answer, which is read to its end.
async function abort(t) {
  for (const [ask, options, begun, ended] of [
    [t.client.whole, ["ttft=2s"], 0, "served"], // read to its end for its usage
    [t.client.abortable, ["tokens=1000", "pace=100ms"], 3, "client_gone"],
  ]) {
    const x = t.ask("chat", ...options);
    const controller = new AbortController();
    x.signal = controller.signal;
    x.piece = (text) => x.pieces.push(text) === begun && controller.abort();
    const answer = failure(ask.call(t.client, x, { prompt }), "aborted");
    await t.gateway.record(x.upstream, (r) => r.pieces >= begun);
    if (begun === 0) controller.abort();
    const error = await answer;
    assert.ok(t.client.aborted(error), `want the SDK's own word for an abort: ${error.stack}`);
    await t.gateway.record(x.upstream, (r) => r.outcome === ended);
  }
}

/** The error with which a promise rejects, which it has to. */
export async function failure(promise, what = "the request") {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: `${what}: got an answer, want an error` });
}
