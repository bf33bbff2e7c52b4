// The vocabularies, each with a count of a text, all tokens that are texts, and its chat template.
import { createRequire } from "node:module";
import { TokenizerLoader } from "@lenml/tokenizers";
import { get_encoding } from "tiktoken";

const require = createRequire(import.meta.url);
const models = ["llama3_1", "qwen3", "deepseek_v3", "gemma3", "claude"];
const encodings = ["o200k_base", "cl100k_base"];

// bytes of the letters that byte-level vocabularies write bytes as, as GPT-2 began to.
const letters = (() => {
  const plain = (b) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let next = 256;
  const of = new Map();
  for (let b = 0; b < 256; b++) of.set(plain(b) ? b : next++, b);
  return of;
})();

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// decoded is the text of a token's bytes; undefined where it is part of a character.
function decoded(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

// text is that of a token of a vocabulary by bytes; undefined where it has none.
function text(token) {
  const bytes = [...token].map((c) => letters.get(c.codePointAt(0)));
  return bytes.includes(undefined) ? undefined : decoded(Uint8Array.from(bytes));
}

function model(name) {
  const tokenizerJSON = require(`@lenml/tokenizer-${name}/models/tokenizer.json`);
  const tokenizerConfig = require(`@lenml/tokenizer-${name}/models/tokenizer_config.json`);
  const tokenizer = TokenizerLoader.fromPreTrained({ tokenizerJSON, tokenizerConfig });
  const byBytes = JSON.stringify([tokenizerJSON.pre_tokenizer, tokenizerJSON.decoder]).includes('"ByteLevel"');
  return {
    name,
    template: tokenizerConfig.chat_template,
    count: (s) => tokenizer.encode(s, { add_special_tokens: false }).length,
    tokens: () =>
      Object.keys(tokenizerJSON.model.vocab)
        .map((t) => (byBytes ? text(t) : t.replaceAll("▁", " ")))
        .filter((t) => t),
  };
}

function encoding(name) {
  const tokenizer = get_encoding(name);
  return {
    name,
    count: (s) => tokenizer.encode(s, [], []).length,
    tokens: () => tokenizer.token_byte_values().map((bytes) => decoded(Uint8Array.from(bytes))).filter((t) => t),
  };
}

export const vocabularies = () => [...models.map(model), ...encodings.map(encoding)];
