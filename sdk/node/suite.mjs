// The official SDKs for Node as clients of the gateway, each before a provider of
// every wire format. Every outcome goes into docs/compatibility.md: with --update
// it is written, without it has to be there already.
import { after, before, describe, it } from "node:test";

import { aiAnthropic, aiOpenAIChat, aiOpenAIResponses } from "./clients/ai.mjs";
import { anthropic } from "./clients/anthropic.mjs";
import { genai } from "./clients/genai.mjs";
import { langchainChat, langchainResponses } from "./clients/langchain.mjs";
import { openaiChat, openaiResponses } from "./clients/openai.mjs";
import { Cell } from "./lib/cell.mjs";
import { Ends } from "./lib/ends-cells.mjs";
import { features } from "./lib/features.mjs";
import { openHouse, providers } from "./lib/gateway.mjs";
import { hangUps } from "./lib/hangups.mjs";
import { live, realtime } from "./lib/realtime.mjs";
import { sockets } from "./lib/sockets.mjs";
import { Sources } from "./lib/sources.mjs";
import { compare, write } from "./lib/table.mjs";
import { webhooks } from "./lib/webhooks.mjs";

const clients = [openaiChat, openaiResponses, anthropic, genai, aiOpenAIChat, aiOpenAIResponses, aiAnthropic, langchainChat, langchainResponses];
const limit = 400_000; // ms for everything, a cold build of the gateway included, which takes 130 s on two busy processors
const patience = 30_000; // ms for one cell

const watchdog = setTimeout(() => {
  console.error(`The suite did not end within ${limit / 1000} s.`);
  process.exit(1);
}, limit);

let gateway;
const cells = [];
const ends = new Ends();
const sources = new Sources();

before(
  async () => {
    gateway = await openHouse();
    ends.start(gateway); // they wait for long, beside all others
  },
  { timeout: limit },
);
after(async () => {
  await gateway?.close();
  clearTimeout(watchdog);
});

for (const client of clients) {
  describe(`${client.name} at ${client.api}`, { concurrency: 4 }, () => {
    after(() => gateway?.forget());
    for (const provider of providers) {
      for (const feature of features.filter((f) => !f.has || f.has(client))) {
        const cell = new Cell(client, provider, feature);
        cells.push(cell);
        it(`${client.name} at ${client.api}, ${provider}: ${feature.name}`, { timeout: patience }, () => cell.run(gateway));
      }
    }
  });
}

it("how answers end", { timeout: limit }, (t) => ends.hold(t));

it("sources of answers", { timeout: limit }, (t) => sources.hold(t, gateway));

it("timeouts of SDKs", { timeout: 3 * patience }, (t) => hangUps(t, gateway));

it("realtime sessions", { timeout: 3 * patience }, (t) => realtime(t, gateway));

it("live sessions", { timeout: 3 * patience }, (t) => live(t, gateway));

it("WebSockets", { timeout: 3 * patience }, () => sockets(gateway));

it("webhooks", { timeout: patience }, () => webhooks(gateway));

const table = process.argv.includes("--update") ? write : compare;
it("docs/compatibility.md", () => table(cells, ends, sources));
