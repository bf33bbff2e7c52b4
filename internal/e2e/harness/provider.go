package harness

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
)

// DialectYAML returns the provider house with another wire format.
func DialectYAML(dialect, baseURL string) string {
	yaml := strings.Replace(ProvidersYAML(baseURL), "dialect: openai", "dialect: "+dialect, 1)
	return strings.Replace(yaml, baseURL+"/v1", baseURL, 1)
}

// PricedAt sets prices of tokens, in dollars per million; nothing else has a rate.
func PricedAt(input, output int64) string {
	return fmt.Sprintf("prices:\n  house/*: {input: \"%d\", output: \"%d\"}\ndefault_model: house/chat\n", input,
		output)
}

// RatesYAML has a different price for each class, so that a token in the wrong class changes the cost; nano has the
// same in nano-dollars a token.
const RatesYAML = `{input: "3", cache_read: "0.7", output: "11", reasoning: "29"}`

var nano = llm.Usage{llm.Input: 3000, llm.CacheRead: 700, llm.CacheWrite: 3000, llm.Output: 11000, llm.Reasoning: 29000}

// CostOf returns the cost of a usage at the rates of RatesYAML.
func CostOf(u *llm.Usage) (cost llm.Money) {
	for c, n := range u {
		cost += llm.Money(n * nano[c])
	}
	return cost
}

// Fold is a class that a wire format does not report, and the class that contains its tokens instead.
type Fold struct {
	Dialect  string
	From, To llm.Class
	Reason   string
}

// Folds are those of all wire formats.
var Folds = []Fold{
	{"bedrock", llm.Reasoning, llm.Output, "a TokenUsage has outputTokens and no part of them"},
	{"ollama", llm.Reasoning, llm.Output, "eval_count includes all output, also thinking"},
	{"cohere", llm.CacheRead, llm.Input, "cached_tokens is not a part of billed_units, and has no price"},
}

// Folded returns a usage as a wire format can report it.
func Folded(dialect string, u llm.Usage, lists ...[]Fold) llm.Usage {
	for _, f := range slices.Concat(lists...) {
		if f.Dialect == dialect {
			u[f.To] += u[f.From]
			u[f.From] = 0
		}
	}
	return u
}

// SpokenBy returns a provider that speaks a dialect.
func SpokenBy(provider, dialect, url, path string) string {
	return strings.NewReplacer("dialect: openai", "dialect: "+dialect, url+"/v1",
		url+path).Replace(ProviderYAML(provider, url))
}

// Spoken returns the wire formats of providers, and the path of the simulator's base URL in each: the part of a route
// before the path of a request.
func Spoken() map[string]string {
	all := map[string]string{}
	for _, d := range registrytest.All() {
		if d.Path == nil {
			continue
		}
		first, _, _ := strings.Cut(d.Path("m", false)[1:], "/")
		before, _, found := strings.Cut(strings.TrimPrefix(d.Routes[0], "POST "), "/"+first)
		if !found {
			panic(fmt.Sprintf("%s: the route %s is not that of /%s", d.Name, d.Routes[0], first))
		}
		all[d.Name] = before
	}
	return all
}

// Answered returns a whole reply with members next to its choices.
func Answered(members string) string {
	return `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]` + members + `}`
}

// Thousand is the usage of an answer, as a member of it.
const Thousand = `,"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}`
