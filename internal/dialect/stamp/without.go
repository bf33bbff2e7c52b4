package stamp

import (
	"bytes"
	"strings"
	"unicode"

	"weir/internal/rawjson"
)

// The names of members with a provider's cost of an answer, or with the gateway's balance there, contain one of
// moneyWords in any case, or one of wholeWords as a word, or are in own. They occur at any depth: vendors and
// gateways put them at the top (NanoGPT's x_nanogpt_pricing), into choices (Vercel's provider_metadata) and into
// usage. tokens are exceptions: parts of names that count tokens.
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

// freeForm are members with objects of any names, written by the model, a tool or the client: arguments of tools,
// their results, and the parts of a request that a reply repeats. Within tellers they have no effect.
var freeForm = rawjson.Names{
	"arguments", "args", "input", "parameters", "properties", "schema", "json_schema", "input_schema", "json",
	"tools", "tool_choice", "metadata", "parsed", "attributes", "structured_content", "structuredContent", "text",
	"functionResponse", "function_response", "toolResult", "variables", "document", "documents", "tool_output",
}

// maxDepth bounds the nesting of a reply, as of a body.
const maxDepth = 100

// WithoutCost returns a reply, or the data of one stream event, without the provider's cost. It returns data without
// a cost, or that is not JSON, unchanged.
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

// isMoney reports whether a name denotes an amount of money.
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

// hasWholeWord reports whether a name or a text has one of wholeWords. Words end at a character other than a letter
// and where a lower-case letter precedes an upper-case one.
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

// maxWholeWord is the length of the longest of wholeWords.
const maxWholeWord = 6

func isLetter(c byte) bool { return isSmall(c | 0x20) }

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' }

// maxEventName bounds the name of an event that is passed on.
const maxEventName = 64

// EventName returns the name of an event; empty if it may contain a cost, because events of wire formats have names
// of letters and a few signs.
func EventName(name []byte) string {
	odd := func(r rune) bool { return !unicode.IsLetter(r) && r != '_' && r != '.' && r != '-' }
	if len(name) > maxEventName || bytes.ContainsFunc(name, odd) || isMoney(name) {
		return ""
	}
	return string(name)
}

// TellsCost reports whether a provider's explanation contains an amount of money. A budget of thinking is in tokens.
func TellsCost(text string) bool {
	lower := strings.ToLower(text)
	if strings.ContainsAny(lower, "$€£¥") {
		return true
	}
	return isMoney([]byte(lower)) && hasNumber(lower)
}

// hasNumber reports whether a text has a number other than an index of a path such as messages[0].
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
