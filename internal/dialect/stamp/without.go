package stamp

import (
	"bytes"
	"strings"
	"unicode"

	"weir/internal/rawjson"
)

// Members in which providers say what an answer costs, or what money the gateway has with them, are those whose name has
// one of moneyWords in it, whatever its case, or one of wholeWords as a word, at any depth: vendors and gateways put them
// at the top (NanoGPT's x_nanogpt_pricing), into choices (Vercel's provider_metadata) and into usage. Names in own are of
// the same kind. What of a name is in tokens is of no money.
var (
	moneyWords = [][]byte{
		[]byte("cost"), []byte("price"), []byte("pricing"), []byte("spend"), []byte("spent"), []byte("credit"),
		[]byte("balance"), []byte("billing"), []byte("budget"), []byte("dollar"), []byte("usd"), []byte("amount"),
		[]byte("charge"), []byte("invoice"), []byte("currency"), []byte("payment"), []byte("wallet"),
		[]byte("discount"), []byte("money"),
	}
	wholeWords = rawjson.Names{
		"fee", "fees", "eur", "euro", "euros", "rub", "cny", "rmb", "cent", "cents", "paid", "quota", "funds", "tariff",
	}
	own    = rawjson.Names{"is_byok", "weir"}
	tokens = [][]byte{
		[]byte("budget_tokens"), []byte("budget tokens"), []byte("thinkingbudget"), []byte("thinking_budget"),
		[]byte("thinking budget"), []byte("token budget"), []byte("concurrency"),
	}
	tellers = rawjson.Names{"usage", "usageMetadata", "provider_metadata", "providerMetadata"}
)

// freeForm are members that hold what the model, a tool or the client itself has written, as an object whose names may
// be anything: arguments of tools, their results, and what a reply repeats of its request. None stands in tellers.
var freeForm = rawjson.Names{
	"arguments", "args", "input", "parameters", "properties", "schema", "json_schema", "input_schema", "json",
	"tools", "tool_choice", "metadata", "parsed", "attributes", "structured_content", "structuredContent", "text",
	"functionResponse", "function_response", "toolResult", "variables", "document", "documents", "tool_output",
}

// maxDepth is how deep a reply may nest, as that of a body.
const maxDepth = 100

// WithoutCost is a reply, or the data of one stream event, without what its provider says that it costs. What says
// nothing of it is given back as it is, and so is what is no JSON.
func WithoutCost(data []byte) []byte {
	if rawjson.Validate(data, maxDepth) != nil {
		return data
	}
	edits := rawjson.Drops(data, func(name []byte, deep bool) rawjson.Verdict {
		switch {
		case !deep && freeForm.Has(string(name)):
			return rawjson.Pass
		case isMoney(name):
			return rawjson.Drop
		case tellers.Has(string(name)):
			return rawjson.Deep
		}
		return rawjson.Look
	})
	if len(edits) == 0 {
		return data
	}
	return rawjson.Splice(nil, data, edits...)
}

// isMoney reports whether a name is of an amount of money.
func isMoney(name []byte) bool {
	if own.Has(string(name)) {
		return true
	}
	lower := bytes.ToLower(name)
	for _, t := range tokens {
		if bytes.Contains(lower, t) {
			lower = bytes.ReplaceAll(lower, t, []byte("_"))
		}
	}
	for _, w := range moneyWords {
		if bytes.Contains(lower, w) {
			return true
		}
	}
	return hasWholeWord(name)
}

// hasWholeWord reports whether a name or a text has one of wholeWords: from another kind of character, or where small
// letters end, to the next.
func hasWholeWord(name []byte) bool {
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && isLetter(name[i]) && (i == start || !isSmall(name[i-1]) || isSmall(name[i])) {
			continue
		}
		if n := i - start; n > 0 && n <= maxWholeWord && wholeWords.Has(strings.ToLower(string(name[start:i]))) {
			return true
		}
		if start = i; i < len(name) && !isLetter(name[i]) {
			start++
		}
	}
	return false
}

// maxWholeWord is how long the longest of wholeWords is.
const maxWholeWord = 6

func isLetter(c byte) bool { return isSmall(c | 0x20) }

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' }

// maxEventName bounds the name of an event that is passed on.
const maxEventName = 64

// EventName is the name of an event without what it may say of a cost: wire formats have words there, and nothing else.
func EventName(name []byte) string {
	odd := func(r rune) bool { return !unicode.IsLetter(r) && r != '_' && r != '.' && r != '-' }
	if len(name) > maxEventName || bytes.ContainsFunc(name, odd) || isMoney(name) {
		return ""
	}
	return string(name)
}

// TellsCost reports whether a provider's explanation tells an amount of money. That of thinking is in tokens.
func TellsCost(text string) bool {
	lower := strings.ToLower(text)
	if strings.ContainsAny(lower, "$€£¥") {
		return true
	}
	return isMoney([]byte(lower)) && hasNumber(lower)
}

// hasNumber reports whether a text has a number that is no index of a path such as messages[0].
func hasNumber(text string) bool {
	before := ' '
	for _, r := range text {
		if unicode.IsDigit(r) && !unicode.IsDigit(before) && before != '[' {
			return true
		}
		if !unicode.IsDigit(r) || before != '[' {
			before = r
		}
	}
	return false
}
