package schematest_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/callid"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/registry"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/schematest"
)

var (
	seeds = flag.Int("seeds", 200, "conversations for each client API and vendor")
	seed  = flag.Uint64("seed", 0, "the one conversation to try, or 0")
)

// client is a client API, with any request that is valid there.
type client struct {
	name, path string
	own        string // whose schema its requests keep to
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

// target is a model of a provider in one of its wire formats, and the schema by which its vendor judges.
type target struct{ vendor, provider, format, model string }

func targets() []target {
	return []target{
		{"openai", "openai", "openai", "gpt-4.1"},
		{"responses", "openai", "responses", "gpt-4.1"},
		{"anthropic", "anthropic", "anthropic", "claude-sonnet-4-5"},
		{"gemini", "gemini", "gemini", "gemini-3-flash"},
		{"bedrock", "bedrock", "bedrock", "us.anthropic.claude-sonnet-4-5-v1:0"},
		{"bedrock", "bedrock", "bedrock", "amazon.nova-pro-v1:0"},
		{"cohere", "cohere", "cohere", "command-a-03-2025"},
		{"mistral", "mistral", "openai", "mistral-large-latest"},
		{"groq", "groq", "openai", "openai/gpt-oss-20b"},
		{"openrouter", "openrouter", "openai", "google/gemini-3.1-flash-lite"},
		{"ollama", "ollama", "ollama", "qwen3"},
	}
}

// route sends requests of a client API to a target, as the gateway does.
type route struct {
	client client
	target target
	in     *dialect.Dialect
	out    *dialect.Operation
	quirks *llm.Quirks
	rules  rules.Set
	schema *schematest.Schema
}

var dialects = sync.OnceValue(registry.All)

func newRoute(t *testing.T, c client, to target) *route {
	t.Helper()
	all := must.Get(schematest.All())(t)
	entry := must.Get(provider.LoadCatalogue())(t).Speaking(to.provider, to.format)
	out := &dialects().Named(to.format).Operation
	return &route{c, to, dialects().Named(c.name), out, &entry.Quirks, rules.For(to.provider, to.format), all[to.vendor]}
}

// sent is what goes to the provider, or why nothing does.
func (r *route) sent(body []byte) (out []byte, dropped []string, err error) {
	op := &r.in.Operation
	head, err := op.Scan(body, httptest.NewRequest("POST", r.client.path, bytes.NewReader(body)))
	if err != nil {
		return nil, nil, err
	}
	tree, err := op.DecodeRequest(body)
	if err != nil {
		return nil, nil, err
	}
	own := r.in.Name == r.target.format
	if own && !r.breaksOwn(tree, body) {
		return op.Splice(nil, body, &head, llm.Splice{Model: r.target.model, Stream: head.Stream}, r.quirks), nil, nil
	}
	request := *compose.Offered(r.target.format, tree)
	request.Model, request.Stream = r.target.model, head.Stream
	request.Messages, _ = callid.History(request.Messages, r.target.provider)
	fitted, _, err := r.rules.Fit(&request, own)
	if err != nil {
		return nil, nil, err
	}
	return r.out.EncodeRequest(fitted, r.quirks)
}

// breaksOwn reports whether a request in the target's own wire format cannot go as it came.
func (r *route) breaksOwn(tree *llm.Request, body []byte) bool {
	return r.rules.MayBreakOwn(r.target.model, body) && r.rules.BreaksOwn(r.target.model, tree, body)
}

// violations are the vendor's rules that what is sent breaks.
func (r *route) violations(body []byte) []schematest.Violation {
	out, _, err := r.sent(body)
	if err != nil {
		return nil
	}
	return r.schema.Violations(out)
}

// known is whether a client's request keeps to the schema of its own API.
func (c client) known(t *testing.T, body []byte) []schematest.Violation {
	t.Helper()
	if c.own == "" {
		return nil
	}
	return must.Get(schematest.All())(t)[c.own].Violations(body)
}

// TestGeneratedRequestsAreValid holds what the generator makes against the client API's own schema.
func TestGeneratedRequestsAreValid(t *testing.T) {
	t.Parallel()
	for _, c := range clients() {
		in := dialects().Named(c.name)
		for n := range uint64(*seeds) {
			body := encoded(c.make(newGenerator(n)))
			if found := c.known(t, body); len(found) > 0 {
				t.Errorf("%s, seed %d: %v\n%s", c.name, n, found, body)
			}
			if _, err := in.Scan(body, httptest.NewRequest("POST", c.path, bytes.NewReader(body))); err != nil {
				t.Errorf("%s, seed %d: %v\n%s", c.name, n, err, body)
			}
		}
	}
}

// outcome counts what became of requests of one client API at one target.
type outcome struct {
	valid, dropped, refused, invalid int
	words                            map[string]int    // of refusals
	kinds                            map[string]uint64 // of invalid requests, with the first seed
}

// TestRequestsKeepToVendorsSchemas sends any conversation that is valid at a client API to each vendor: what Weir does
// not refuse, the vendor's published schema takes.
func TestRequestsKeepToVendorsSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range clients() {
		for _, to := range targets() {
			if c.own == to.vendor {
				continue // it passes as it came
			}
			t.Run(c.name+" to "+to.vendor+" "+to.model, func(t *testing.T) {
				t.Parallel()
				r := newRoute(t, c, to)
				o := r.tried(uint64(*seeds))
				o.log(t)
				for _, kind := range slices.Sorted(maps.Keys(o.kinds)) {
					r.report(t, kind, o.kinds[kind])
				}
			})
		}
	}
}

func (o *outcome) log(t *testing.T) {
	t.Helper()
	t.Logf("valid %d (%d without something named), refused %d, invalid %d", o.valid, o.dropped, o.refused, o.invalid)
	for _, words := range slices.Sorted(maps.Keys(o.words)) {
		t.Logf("refused %d: %s", o.words[words], words)
	}
	for _, kind := range slices.Sorted(maps.Keys(o.kinds)) {
		t.Logf("invalid: %s (seed %d)", kind, o.kinds[kind])
	}
}

func (r *route) tried(n uint64) (o outcome) {
	o.words, o.kinds = map[string]int{}, map[string]uint64{}
	first, last := uint64(0), n
	if *seed > 0 {
		first, last = *seed, *seed+1
	}
	for s := first; s < last; s++ {
		body := encoded(r.client.make(newGenerator(s)))
		out, dropped, err := r.sent(body)
		if err != nil {
			e := llm.AsError(err)
			o.refused++
			o.words[place(e.Param)+": "+e.Message]++
			continue
		}
		found := r.schema.Violations(out)
		switch {
		case len(found) > 0:
			o.invalid++
		case len(dropped) > 0:
			o.dropped++
			fallthrough
		default:
			o.valid++
		}
		for _, v := range found {
			if _, ok := o.kinds[v.Kind()]; !ok {
				o.kinds[v.Kind()] = s
			}
		}
	}
	return o
}

// place is a field without its indices.
func place(param string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, param)
}

// report fails for a kind of invalid request, with the smallest that has it.
func (r *route) report(t *testing.T, kind string, seed uint64) {
	t.Helper()
	has := func(o object) bool {
		body := encoded(o)
		is := func(v schematest.Violation) bool { return v.Kind() == kind }
		return len(r.client.known(t, body)) == 0 && slices.ContainsFunc(r.violations(body), is)
	}
	smallest := shrunk(r.client.make(newGenerator(seed)), has)
	body := encoded(smallest)
	out, _, _ := r.sent(body)
	found := r.schema.Violations(out)
	t.Errorf("-seed %d: %s\n%s\nis sent as\n%s", seed, cmp.Or(fmt.Sprint(found), kind), body, out)
}
