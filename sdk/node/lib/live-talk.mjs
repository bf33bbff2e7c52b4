// One program that talks to Gemini through the gateway, by the Live class of Google's SDK. It runs as a process of its
// own, because Node reads a further certificate authority only when it starts.
import assert from "node:assert/strict";

import { GoogleGenAI, Modality } from "@google/genai";

const { WEIR_URL: baseUrl, WEIR_KEY: apiKey } = process.env;
const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });

/** Speech and then the silence that ends a turn, as 16 kHz in 16 bits. */
function speech() {
  const sound = Buffer.alloc(32 * 1600);
  sound.fill(7, 0, 32 * 1000);
  return sound.toString("base64");
}

const waiting = [];
const messages = [];
let failed;
function next(is) {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (failed) return reject(failed);
      const at = messages.findIndex(is);
      if (at < 0) return waiting.push(look);
      resolve(messages.splice(0, at + 1).at(-1));
    };
    look();
  });
}
const wake = () => waiting.splice(0).forEach((look) => look());

const session = await client.live.connect({
  model: "gemini/tools:sound=1s",
  config: {
    responseModalities: [Modality.AUDIO],
    systemInstruction: "Be brief.",
    maxOutputTokens: 500,
    tools: [{ functionDeclarations: [{ name: "weather" }] }],
  },
  callbacks: {
    onmessage: (m) => (messages.push(m), wake()),
    onclose: (e) => ((failed = new Error(`closed: ${e.code} ${e.reason}`)), wake()),
    onerror: (e) => ((failed = e.error ?? new Error(e.message)), wake()),
  },
});
await next((m) => m.setupComplete);
let calls = 0;
for (const ask of [
  () => session.sendClientContent({ turns: "How is the weather?" }),
  () => session.sendRealtimeInput({ text: "And now?" }),
  () => session.sendRealtimeInput({ audio: { mimeType: "audio/pcm;rate=16000", data: speech() } }),
]) {
  ask();
  const { toolCall } = await next((m) => m.toolCall);
  calls++;
  session.sendToolResponse({ functionResponses: [{ id: toolCall.functionCalls[0].id, name: "weather", response: { output: "sunny" } }] });
  const { usageMetadata } = await next((m) => m.serverContent?.turnComplete);
  assert.equal(usageMetadata.responseTokenCount, 25);
}
session.close();
console.log(`live: ${calls} calls`);
process.exit(0);
