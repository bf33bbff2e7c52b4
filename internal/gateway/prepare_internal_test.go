package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/quote"
	"weir/internal/quotetest"
	"weir/internal/rawjson"
	"weir/internal/simulator"
)

// newAsked builds the first attempt of a request, before it is prepared.
func newAsked(tb quotetest.Failer, of quotetest.Asked) *attempt {
	tb.Helper()
	f := quotetest.New(tb, of)
	in := &intake{
		Request: quote.Request{Dialect: f.Dialect, Op: f.Op, Head: f.Head, Header: f.Request.Header, Body: f.Body}, r: f.Request,
		server: &Server{now: func() time.Time { return f.Now }, bounds: parse.NewLimiter(), capacity: newCapacity(1 << 40)},
		table:  f.Table, started: f.Now,
	}
	in.client.Request, in.held = in.r, in.server.capacity.Hold(&in.client, "")
	in.Capacity, in.Bounds = &in.held, in.server.bounds
	a := &attempt{in: in, room: new([]byte)}
	quote.Begin(&a.Quote, &in.Request, f.Table, f.Target, f.Now)
	return a
}

// TestInjectionOfOutputCap checks that the cap reaches each provider in its own field, and that nothing is inserted
// without a cap, or next to the client's.
func TestInjectionOfOutputCap(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"native":    `{"model":"m","messages":[{"role":"user","prompt":"Hi"}]}`,
		"openai":    `{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":null}`,
		"responses": `{"model":"m","input":"Hi"}`,
		"gemini":    `{"contents":[{"parts":[{"text":"Hi"}]}]}`,
	}
	given := map[string]string{
		"openai":    `{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":50}`,
		"anthropic": `{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":50}`,
		"gemini":    `{"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":50}}`,
	}
	fields := map[string][]string{
		"openai": {"max_completion_tokens"}, "responses": {"max_output_tokens"}, "anthropic": {"max_tokens"},
		"gemini": {"generationConfig", "maxOutputTokens"}, "bedrock": {"inferenceConfig", "maxTokens"},
		"cohere": {"max_tokens"}, "ollama": {"options", "num_predict"},
	}
	for target, path := range fields {
		for clientAPI, body := range bodies {
			if got := sentCap(t, clientAPI, target, body, 321, path); got != "321" {
				t.Errorf("%s to %s: a cap of %s, want the one that is put in, 321", clientAPI, target, got)
			}
			if got := sentCap(t, clientAPI, target, body, 0, path); got != "" && got != "null" && target != "anthropic" {
				t.Errorf("%s to %s: a cap of %s, want none", clientAPI, target, got)
			}
		}
		for clientAPI, body := range given {
			if got := sentCap(t, clientAPI, target, body, 321, path); got != "50" && (clientAPI != target || got != "") {
				t.Errorf("%s to %s: a cap of %s, want the client's, 50", clientAPI, target, got)
			}
		}
	}
	quirks := llm.Quirks{MaxOutputField: "max_tokens"}
	a := newAsked(t, quotetest.Asked{ClientAPI: "openai", Body: bodies["openai"], Quirks: quirks})
	a.cap = 321
	if err := a.makeBody(); err != nil || string(rawjson.Get(a.body, "max_tokens")) != "321" || rawjson.Get(a.body, "max_completion_tokens") != nil {
		t.Errorf("a provider with a field of its own: %s, %v", a.body, err)
	}
}

func sentCap(t *testing.T, clientAPI, target, body string, limit int64, path []string) string {
	t.Helper()
	a := newAsked(t, quotetest.Asked{ClientAPI: clientAPI, Target: target, Body: body})
	a.cap = limit
	if err := a.makeBody(); err != nil {
		t.Fatalf("%s to %s: %v", clientAPI, target, err)
	}
	return string(rawjson.Get(a.body, path...))
}

// TestInjectionOnRescue checks that a continued answer is capped, too.
func TestInjectionOnRescue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, want string }{
		{`{"messages":[{"role":"user","content":"Hi"}]}`, "77"},
		{`{"max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`, "48"}, // two of them are written
	} {
		a := newAsked(t, quotetest.Asked{ClientAPI: "openai", Target: "anthropic", Body: tt.body})
		before := a.BoundBooks()
		request := a.behind([]byte("Hello world"))
		a.cap = 77
		if err := a.encode(request); err != nil || string(rawjson.Get(a.body, "max_tokens")) != tt.want {
			t.Errorf("%s: continued with %s, %v; want a cap of %s", tt.body, a.body, err, tt.want)
		}
		if u := a.BoundBooks(); u.InputTokens() != before.InputTokens()+int64(len("Hello world")) {
			t.Errorf("%s: %d input tokens, want those of the earlier text, too", tt.body, u.InputTokens())
		}
	}
}

// generated returns a request at a client API.
func generated(t *rapid.T, clientAPI *dialect.Dialect) []byte {
	part := rapid.Custom(func(t *rapid.T) llm.Part {
		if rapid.IntRange(0, 5).Draw(t, "image") == 0 {
			data := strings.Repeat("AAAA", rapid.IntRange(1, 200).Draw(t, "data"))
			return llm.Part{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: data}}
		}
		return llm.Part{Kind: llm.PartText, Text: "x" + quotetest.Texts().Draw(t, "text")}
	})
	r := llm.Request{Model: "m", ExtraOf: "another"}
	for range rapid.IntRange(1, 5).Draw(t, "messages") {
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser, Parts: rapid.SliceOfN(part, 1, 4).Draw(t, "parts")})
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "tools") {
		r.Tools = append(r.Tools, llm.Tool{
			Name: "f" + strconv.Itoa(i), Description: quotetest.Texts().Draw(t, "description"),
			Parameters: []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`),
		})
	}
	if clientAPI.Name == "anthropic" || rapid.Bool().Draw(t, "capped") {
		r.MaxOutput = new(rapid.Int64Range(16, 3000).Draw(t, "cap"))
	}
	if clientAPI.Name == "openai" && rapid.Bool().Draw(t, "choices") {
		r.Choices = new(rapid.Int64Range(1, 4).Draw(t, "n"))
	}
	body, _, err := clientAPI.EncodeRequest(&r, &llm.Quirks{})
	must.Do(t, err)
	if rapid.Bool().Draw(t, "escaped") { // as Python writes it
		var v any
		must.Do(t, json.Unmarshal(body, &v))
		body, _ = json.MarshalIndent(v, "", "  ")
	}
	return body
}

// TestBoundCoversServed compares the bound of generated requests, with the cap that an amount covers, with the usage of
// a provider that writes as much as permitted, at prices of any kind.
func TestBoundCoversServed(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
	t.Cleanup(sim.Close)
	clientAPIs := []string{"openai", "responses", "anthropic", "gemini"}
	models := []string{"chat:tokens=9000", "reason:tokens=2000,reasoning=3000", "tools:calls=9", "reason:tokens=5,reasoning=9000,cached=50"}
	rapid.Check(t, func(t *rapid.T) {
		a := quotetest.Asked{
			ClientAPI: rapid.SampledFrom(clientAPIs).Draw(t, "client API"), Target: rapid.SampledFrom(append(clientAPIs, "cohere", "ollama")).Draw(t, "target"),
			Model: rapid.SampledFrom(models).Draw(t, "model"), Price: pricing.PriceOverride{}, Sizes: pricing.ModelOverride{MaxOutput: 4000},
		}
		for _, class := range []string{"input", "output", "cache_read", "cache_write", "reasoning", "image_in", "request"} {
			a.Price[class] = strconv.Itoa(rapid.IntRange(0, 90).Draw(t, class))
		}
		a.Body = string(generated(t, quotetest.Dialect(t, a.ClientAPI)))
		how := rapid.SampledFrom([]quote.Precision{quote.Coarse, quote.Fine}).Draw(t, "how")
		share := rapid.Int64Range(0, 100).Draw(t, "share")
		if err := checkServed(t, sim, a, how, share, func(*attempt) {}); errors.Is(err, errNotAsked) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	})
}

// TestBoundCoversServedChecked is the negative control: a cap above the reserved one is found, and a second answer.
func TestBoundCoversServedChecked(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
	t.Cleanup(sim.Close)
	a := quotetest.Asked{ClientAPI: "openai", Model: "chat:tokens=9000", Body: `{"messages":[{"role":"user","content":"Hi"}]}`, Sizes: pricing.ModelOverride{MaxOutput: 4000}}
	for name, spoil := range map[string]func(*attempt){
		"nothing":          func(*attempt) {},
		"a larger cap":     func(a *attempt) { a.cap = 9000 },
		"a second answer":  func(a *attempt) { a.Body = []byte(`{"n":2,` + string(a.Body[1:])); a.Head, _ = a.Op.Scan(a.Body, nil) },
		"no cap to be put": func(a *attempt) { a.cap = 0 },
	} {
		if err := checkServed(t, sim, a, quote.Fine, 100, spoil); (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// errNotAsked is returned for a request that its target cannot serve.
var errNotAsked = errors.New("the target cannot be asked for that")

// checkServed compares one request, with a cap for share percent of its reservation above the minimum, with the usage
// served for it, after spoil has changed the attempt.
func checkServed(tb quotetest.Failer, sim *simulator.Server, of quotetest.Asked, how quote.Precision, share int64,
	spoil func(*attempt),
) error {
	a := newAsked(tb, of)
	var inputs quote.Inputs
	err := a.inputs(&inputs)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAsked, err)
	}
	k := a.Demand(&inputs, how)
	least, most := k.Amounts()
	amount := least + (most-least)*llm.Money(share)/100
	var ok bool
	if a.cap, ok = k.CapFor(amount); !ok {
		return fmt.Errorf("%d is not within reservations from %d", amount, least)
	}
	a.calls = k.CallsFor(amount)
	u := k.Granted(a.cap, a.calls)
	spoil(a)
	if err := a.makeBody(); err != nil {
		return fmt.Errorf("%w: %w", errNotAsked, err)
	}
	served, err := serve(sim, a.Speaks, a.Target.Model, a.body)
	if err != nil {
		return err
	}
	if cost := k.Price.Cost(&served, ""); cost > amount || cost > k.Price.Bound(&u) {
		return fmt.Errorf("%s to %s: served %+v for %d, held %+v, at most %d of %d granted\n%s", of.ClientAPI, of.Target, served, cost, u, k.Price.Bound(&u), amount, a.body)
	}
	return nil
}

// serve returns the simulator's usage for a body.
func serve(sim *simulator.Server, d *dialect.Dialect, model string, body []byte) (llm.Usage, error) {
	path := d.Path(model, false)
	for _, route := range d.Routes { // which begin as providers' base addresses end
		if _, at, _ := strings.Cut(route, " "); strings.HasSuffix(at, path) {
			path = at
		}
	}
	if d.Name == "gemini" {
		path = "/v1beta" + path
	}
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)) //nolint:noctx // within one process
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return llm.Usage{}, fmt.Errorf("%s: the simulator says %d: %s\n%s", path, w.Code, w.Body, body)
	}
	var last simulator.Record
	for record := range sim.Ledger().Records(0) {
		last = record
	}
	sim.Reset()
	if last.Reported != nil {
		return *last.Reported, nil
	}
	return last.Usage, nil
}
