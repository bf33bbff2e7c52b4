package schematest_test

import (
	"bytes"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/callid"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/schematest"
)

// client is a client API, with any request that is valid there.
type client struct {
	name, path string
	own        string // the vendor whose schema its requests satisfy
	make       func(generator) object
}

func clients() []client {
	return []client{
		{"openai", "/v1/chat/completions", "openai", chatRequest},
		{"responses", "/v1/responses", "responses", responsesRequest},
		{"anthropic", "/v1/messages", "anthropic", messagesRequest},
		{"gemini", "/v1beta/models/m:generateContent", "gemini", contentsRequest},
		{"native", "/v1/chat", "", nativeRequest},
	}
}

// target names a model of a provider in one of its wire formats, and the schema that judges it, if any.
type target struct{ schema, provider, format, model string }

func targets() []target {
	return []target{
		{"openai", "openai", "openai", "gpt-4.1"},
		{"openai", "openai", "openai", "gpt-5.6-luna"},
		{"openai", "azure", "openai", "gpt-5-mini"},
		{"responses", "openai", "responses", "gpt-4.1"},
		{"responses", "openai", "responses", "gpt-5.6-luna"},
		{"responses", "azure", "responses", "o4-mini"},
		{"anthropic", "anthropic", "anthropic", "claude-sonnet-4-5"},
		{"anthropic", "anthropic", "anthropic", "claude-opus-4-7"},
		{"gemini", "gemini", "gemini", "gemini-3-flash"},
		{"gemini", "vertex", "gemini", "gemini-2.5-flash"},
		{"bedrock", "bedrock", "bedrock", "us.anthropic.claude-sonnet-4-5-v1:0"},
		{"bedrock", "bedrock", "bedrock", "amazon.nova-pro-v1:0"},
		{"cohere", "cohere", "cohere", "command-a-03-2025"},
		{"mistral", "mistral", "openai", "mistral-large-latest"},
		{"groq", "groq", "openai", "openai/gpt-oss-20b"},
		{"openrouter", "openrouter", "openai", "google/gemini-3.1-flash-lite"},
		{"ollama", "ollama", "ollama", "qwen3"},
		{"cerebras", "cerebras", "openai", "gpt-oss-120b"},
		{"", "ollama", "openai", "qwen3"},
		{"", "xai", "openai", "grok-4.3"},
		{"", "xai", "responses", "grok-4.3"},
		{"", "deepseek", "openai", "deepseek-v4-pro"},
		{"", "moonshot", "openai", "kimi-k2.5"},
		{"", "alibaba", "openai", "qwen-plus"},
		{"", "vllm", "openai", "Qwen/Qwen3-32B"},
		{"", "perplexity", "openai", "sonar-pro"},
	}
}

// vendor returns the name of a target's vendor in its wire format.
func (to target) vendor() string { return to.provider + " " + to.format }

// route sends requests of a client API to a target, as the gateway does.
type route struct {
	client client
	target target
	in     *dialect.Dialect
	out    *dialect.Operation
	quirks *llm.Quirks
	rules  rules.Set
	schema *schematest.Schema // nil where the vendor publishes none
	judges []rules.Rule
	strict rules.Set // of the judges
	turns  []string  // the vendor's models in the same wire format

	names  map[string]string // of tools, by those that were sent in the last request
	before []string          // the ids of its calls
}

var (
	dialects  = sync.OnceValue(registrytest.All)
	catalogue = sync.OnceValues(provider.LoadCatalogue)
)

func newRoute(t *testing.T, c client, to target) *route {
	t.Helper()
	all := must.Get(schematest.All())(t)
	entry := must.Get(catalogue())(t).Speaking(to.provider, to.format)
	out := &dialects().Named(to.format).Operation
	r := &route{
		client: c, target: to, in: dialects().Named(c.name), out: out, quirks: &entry.Quirks,
		rules: rules.For(to.provider, to.format), schema: all[to.schema],
	}
	// A body of a client of the target's own wire format is sent unchanged except for some fields.
	r.judgeBy(func(rule *rules.Rule) bool { return rule.Own || !r.isOwn() })
	return r
}

// judgeBy has some of the target's rules judge the sent request.
func (r *route) judgeBy(isJudge func(*rules.Rule) bool) {
	r.judges = nil
	for _, rule := range r.rules.All() {
		if isJudge(&rule) {
			r.judges = append(r.judges, rule)
		}
	}
	r.strict = rules.New(r.judges)
}

// isOwn reports whether the client speaks the target's wire format.
func (r *route) isOwn() bool { return r.in.Name == r.target.format }

// asked holds a client's request, decoded once for all targets, as in the gateway. err is the reason why it cannot be.
type asked struct {
	body []byte
	head llm.Head
	tree *llm.Request
	err  error
}

func (c client) asked(body []byte) *asked {
	a, in := &asked{body: body}, dialects().Named(c.name)
	if a.head, a.err = in.Scan(body, httptest.NewRequest("POST", c.path, bytes.NewReader(body))); a.err == nil {
		a.tree, a.err = in.DecodeRequest(body)
	}
	return a
}

// sent returns the request to the provider, or the reason why none is sent.
func (r *route) sent(a *asked) (out []byte, dropped []string, err error) {
	r.names, r.before = nil, nil
	if a.err != nil {
		return nil, nil, a.err
	}
	if r.isOwn() && !r.breaksOwn(a) {
		out := r.in.Splice(nil, a.body, &a.head, llm.Splice{Model: r.target.model, Stream: a.head.Stream}, r.quirks)
		return out, nil, nil
	}
	fitted, err := r.fitted(a)
	if err != nil {
		return nil, nil, err
	}
	return r.out.EncodeRequest(fitted, r.quirks)
}

// fitted applies the target's rules to a request.
func (r *route) fitted(a *asked) (*llm.Request, error) {
	request := *compose.Offered(r.target.format, a.tree)
	request.Model, request.Stream = r.target.model, a.head.Stream
	request.Messages, r.before = callid.History(request.Messages, r.target.provider)
	fitted, names, err := r.rules.Fit(&request, r.isOwn())
	r.names = names
	return fitted, err
}

// breaksOwn reports whether a request in the target's own wire format cannot be sent unchanged.
func (r *route) breaksOwn(a *asked) bool {
	return r.rules.MayBreakOwn(r.target.model, a.body) && r.rules.BreaksOwn(r.target.model, a.tree, a.body)
}

// violations lists the vendor's rules that a request violates, if it is sent: those of its schema, and those of the
// table.
func (r *route) violations(body []byte) []schematest.Violation {
	out, _, err := r.sent(r.client.asked(body))
	if err != nil {
		return nil
	}
	return r.judged(out)
}

// judged lists the rules that the sent request violates.
func (r *route) judged(out []byte) (found []schematest.Violation) {
	if r.schema != nil {
		found = r.schema.Violations(out)
	}
	if r.isOwn() {
		found = slices.DeleteFunc(found, func(v schematest.Violation) bool { return isGivenBack(v) || isAbility(v) })
	}
	tree, err := r.out.DecodeRequest(out)
	if err != nil {
		return append(found, schematest.Violation{Rule: "unreadable", Text: err.Error()})
	}
	tree.Model = r.target.model
	if r.strict.Broken(tree, out) == "" {
		return found
	}
	for _, rule := range r.judges {
		if says := rules.New([]rules.Rule{rule}).Broken(tree, out); says != "" {
			found = append(found, schematest.Violation{Path: "the rule", Rule: rule.Name, Text: says})
		}
	}
	return found
}

// known lists the violations of a client's request by the schema of its own API.
func (c client) known(t *testing.T, body []byte) []schematest.Violation {
	t.Helper()
	if c.own == "" {
		return nil
	}
	all := must.Get(schematest.All())(t)
	found := all[c.own].Violations(body)
	if betas := all[c.own+"-betas"]; len(found) > 0 && betas != nil {
		found = betas.Violations(body)
	}
	return slices.DeleteFunc(found, func(v schematest.Violation) bool {
		return isGivenBack(v) || isInUntyped(v) || isOfTomorrow(v, body)
	})
}

// isOfTomorrow reports whether an item has a type that is not published yet.
func isOfTomorrow(v schematest.Violation, body []byte) bool {
	return v.Kind() == "/input/* anyOf" && bytes.Contains(body, []byte(tomorrow))
}

// isAbility reports whether the violation is OpenAI's web search, audio output, or a file by an id of OpenAI's, which
// another vendor of Chat Completions does not list. These are sent unchanged: the vendor rightly refuses them.
func isAbility(v schematest.Violation) bool {
	switch v.Kind() {
	case "/web_search_options unknown", "/audio unknown", "/modalities unknown", "/modalities/* enum", "/messages/*/audio unknown",
		"/messages/*/content/*/file unknown", "/messages/*/content/*/file_id missing":
		return true
	}
	return false
}

// isInUntyped reports whether a member is within an object that OpenAI's document gives no type: the arguments of a
// tool search, and its tools' parameters.
func isInUntyped(v schematest.Violation) bool {
	return v.Rule == "unknown" && (strings.Contains(v.Path, "/parameters/") || strings.Contains(v.Path, "/arguments/"))
}

// isGivenBack reports whether a member of a message comes from an answer, and clients send it back although the schema
// of requests lacks it. The name of a function's result counts, too: OpenAI's guides once had it. OpenAI, Azure and
// OpenRouter are not known to refuse these members, nor Anthropic those of its own citations. Rules name other vendors.
func isGivenBack(v schematest.Violation) bool {
	return v.Rule == "unknown" && (v.Path == "/messages/*/reasoning_content" || v.Path == "/messages/*/annotations" || v.Path == "/messages/*/name" ||
		v.Path == "/messages/*/content/*/citations/*/file_id")
}
