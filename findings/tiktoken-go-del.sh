#!/usr/bin/env bash
# github.com/tiktoken-go/tokenizer v0.10.0 counts U+007F (DEL) as no token. Its pattern, compiled by dlclark/regexp2 v2,
# does not match the character, and what no match covers is left out. OpenAI's own vocabulary has a token for it (221 in
# o200k_base), and js-tiktoken 1.0.21 counts one each. A bound or an estimate by this library is 0 for a text of DELs.
#
# Output seen on 2026-11-28:
#   go: 0 tokens of ten DELs by o200k_base, 2 of "a", DEL, "b"
#   js: 10 tokens of ten DELs by o200k_base, 3 of "a", DEL, "b"
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"

cat >main.go <<'GO'
package main

import (
	"fmt"
	"strings"

	"github.com/tiktoken-go/tokenizer/codec"
)

func main() {
	c := codec.NewO200kBase()
	ten, _ := c.Count(strings.Repeat("\x7f", 10))
	one, _ := c.Count("a\x7fb")
	fmt.Printf("go: %d tokens of ten DELs by o200k_base, %d of \"a\", DEL, \"b\"\n", ten, one)
}
GO
cat >main.cjs <<'JS'
const o200k = require("js-tiktoken").getEncoding("o200k_base");
const count = (text) => o200k.encode(text).length;
console.log(`js: ${count("\x7f".repeat(10))} tokens of ten DELs by o200k_base, ${count("a\x7fb")} of "a", DEL, "b"`);
JS
go mod init finding >/dev/null 2>&1
go get github.com/tiktoken-go/tokenizer@v0.10.0 >/dev/null 2>&1
npm install --no-audit --no-fund --loglevel=error js-tiktoken@1.0.21 >/dev/null

{ go run . && node main.cjs; } | tee seen
diff seen - <<'WANT'
go: 0 tokens of ten DELs by o200k_base, 2 of "a", DEL, "b"
js: 10 tokens of ten DELs by o200k_base, 3 of "a", DEL, "b"
WANT
