// One program that talks to speech models through the gateway, by OpenAI's own classes: the Realtime class of its SDK
// for Node, by ws and by the native WebSocket that browsers have, and the realtime agents of its Agents SDK. It runs as a
// process of its own, because Node reads a further certificate authority only when it starts.
import assert from "node:assert/strict";
import { once } from "node:events";

import { RealtimeAgent, RealtimeSession, tool } from "@openai/agents-realtime";
import OpenAI from "openai";
import { OpenAIRealtimeWebSocket } from "openai/realtime/websocket";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { z } from "zod";

const { WEIR_URL: baseURL, WEIR_KEY: apiKey, WEIR_PROVIDER: provider } = process.env;
const client = new OpenAI({ apiKey, baseURL });

/** Speech and then the silence that ends a turn, as 24 kHz in 16 bits. */
function speech() {
  const sound = Buffer.alloc(48 * 1700);
  sound.fill(7, 0, 48 * 1000);
  return sound;
}

/** The next event of a type; an error of the session rejects. */
function next(session, type) {
  return new Promise((resolve, reject) => {
    session.on(type, resolve);
    session.on("error", reject);
  });
}

async function talkBy(open, name) {
  const session = open({ model: `${provider}/echo:sound=1s` });
  await next(session, "session.created");
  session.send({ type: "session.update", session: { type: "realtime", instructions: "Be brief.", output_modalities: ["text"] } });
  const updated = await next(session, "session.updated");
  assert.equal(updated.session.audio.input.turn_detection.create_response, true);
  session.send({ type: "conversation.item.create", item: { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] } });
  session.send({ type: "response.create" });
  const written = await next(session, "response.done");
  assert.equal(written.response.status, "completed");
  assert.ok(written.response.usage.output_token_details.text_tokens > 0);
  session.send({ type: "session.update", session: { type: "realtime", output_modalities: ["audio"] } });
  const spoken = next(session, "response.done");
  session.send({ type: "input_audio_buffer.append", audio: speech().toString("base64") });
  assert.equal((await spoken).response.usage.output_token_details.audio_tokens, 20);
  session.close();
  console.log(`${name}: 2 responses`);
}

async function agents() {
  let calls = 0;
  const weather = tool({
    name: "weather",
    description: "The weather.",
    parameters: z.object({}),
    execute: async () => `sunny ${++calls}`,
  });
  const agent = new RealtimeAgent({ name: "Guide", instructions: "Help.", tools: [weather] });
  const session = new RealtimeSession(agent, { transport: "websocket", model: `${provider}/tools:sound=1s` });
  const failed = new Promise((_, reject) => session.on("error", (e) => reject(new Error(JSON.stringify(e)))));
  const url = `${baseURL.replace("https", "wss")}/realtime?model=${encodeURIComponent(`${provider}/tools:sound=1s`)}`;
  await Promise.race([session.connect({ apiKey, url }), failed]);
  for (let i = 1; i <= 20; i++) {
    const answered = once(session, "audio_stopped").catch(() => {});
    session.sendMessage(`Question ${i}`);
    await Promise.race([answered, failed]);
    assert.equal(calls, i);
  }
  assert.ok(session.usage.outputTokens > 0);
  session.close();
  console.log(`agents: ${calls} calls`);
}

await talkBy((o) => new OpenAIRealtimeWS(o, client), "ws");
await talkBy((o) => new OpenAIRealtimeWebSocket({ ...o, dangerouslyAllowBrowser: true }, client), "websocket");
await agents();
process.exit(0);
