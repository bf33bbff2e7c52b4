// What cannot be had of a provider, and what the gateway says then. What is not here has to work.
import assert from "node:assert/strict";

const lacks = [
  {
    feature: "image by URL",
    providers: ["bedrock"],
    outcome: "no",
    status: 400,
    message: /Amazon Bedrock does not fetch images by URL or file id\./,
  },
  {
    feature: "image by URL",
    providers: ["ollama"],
    outcome: "no",
    status: 400,
    message: /Ollama does not fetch images by URL\. Send the image inline, as base64 in a data URL\./,
  },
  { feature: "embedding", providers: ["anthropic"], outcome: "no", status: 400, message: /The provider "anthropic" does not offer embeddings\./ },
  { feature: "embeddings at once", providers: ["anthropic"], outcome: "no", status: 400, message: /The provider "anthropic" does not offer embeddings\./ },
  { feature: "embeddings at once", providers: ["bedrock"], outcome: "no", status: 400, message: /This model embeds one text per request\./ },
];

/** What a cell lacks, undefined where it has to work. */
export function lackOf(provider, feature) {
  const found = lacks.filter((l) => l.feature === feature && (!l.providers || l.providers.includes(provider)));
  assert.ok(found.length < 2, `${provider}: ${feature} is lacking twice`);
  return found[0];
}
