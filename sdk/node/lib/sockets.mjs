// OpenAI's own client of the Responses API over WebSocket before every wire format: loops of 20 tool calls that are
// stored nowhere, each answer continued from the one before.
import assert from "node:assert/strict";

import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";

import { providers } from "./gateway.mjs";

const rounds = 20;
const tools = [{ type: "function", name: "look", parameters: { type: "object", properties: { at: { type: "string" } } }, strict: false }];

/** Runs the loops, one after the other. */
export async function sockets(gateway) {
  for (const provider of providers) await loop(gateway, provider);
  await refused(gateway);
}

async function loop(gateway, provider) {
  const socket = open(gateway, gateway.key);
  const create = (more) => socket.send({ type: "response.create", model: `${provider}/tools`, store: false, tools, ...more });
  let calls = 0;
  await new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("response.completed", ({ response }) => {
      const call = response.output.find((item) => item.type === "function_call");
      const next = (input) => create({ previous_response_id: response.id, input });
      if (call) next([{ type: "function_call_output", call_id: call.call_id, output: `seen ${++calls}` }]);
      else if (calls < rounds) next("again");
      else resolve();
    });
    socket.socket.on("open", () => create({ input: "begin" }));
  });
  assert.equal(calls, rounds, `${provider}: calls`);
  assert.equal(await close(socket), 1000, `${provider}: code of the end`);
}

// A key that may not chat gets no WebSocket.
async function refused(gateway) {
  const socket = open(gateway, gateway.usesKey);
  const error = await new Promise((resolve) => socket.on("error", resolve));
  assert.match(error.message, /403/);
}

function open(gateway, apiKey) {
  return new ResponsesWS(new OpenAI({ apiKey, baseURL: `${gateway.url}/v1` }));
}

function close(socket) {
  const code = new Promise((resolve) => socket.socket.on("close", resolve));
  socket.close();
  return code;
}
