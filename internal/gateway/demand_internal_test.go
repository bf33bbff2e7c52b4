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

	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/dialect/registry"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/pricing"
	"weir/internal/rawjson"
	"weir/internal/route"
	"weir/internal/simulator"
)

// reservations are any that there can be.
func demands() *rapid.Generator[demand] {
	return rapid.Custom(func(t *rapid.T) demand {
		rate := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, 1<<50))
		rates := func() (r llm.Rates) {
			for c := range r {
				r[c] = llm.RateOf(rate.Draw(t, "rate"))
			}
			return r
		}
		k := demand{price: llm.Price{Version: "v", Rates: rates()}, answers: rapid.Int64Range(1, 128).Draw(t, "answers"), open: true}
		for above := int64(0); rapid.Bool().Draw(t, "tier"); {
			above += rapid.Int64Range(1, 300_000).Draw(t, "above")
			k.price.Tiers = append(k.price.Tiers, llm.Tier{Above: above, Rates: rates()})
		}
		k.fixed[llm.Input] = rapid.Int64Range(0, 1<<40).Draw(t, "input")
		k.fixed[llm.Output] = rapid.Int64Range(0, 1<<20).Draw(t, "foretold")
		k.fixed[llm.Searches] = rapid.Int64Range(0, 100).Draw(t, "searches")
		k.fixed[llm.Requests] = 1
		k.most = rapid.Int64Range(0, 1<<41).Draw(t, "most")
		k.least = min(leastOutput, k.most)
		return k
	})
}

// checkCaps holds that the cap of an amount is the largest whose bound is within
// it.
func checkCaps(t *rapid.T, capFor func(k *demand, amount llm.Money) (int64, bool)) error {
	k := demands().Draw(t, "claim")
	least, most := k.amounts()
	amount := rapid.OneOf(
		rapid.SampledFrom([]llm.Money{0, least - 1, least, most, most + 1, least + (most-least)/2}),
		rapid.Map(rapid.Int64Range(0, int64(ledger.MaxCost)), func(n int64) llm.Money { return llm.Money(n) }),
	).Draw(t, "amount")
	limit, ok := capFor(&k, amount)
	switch {
	case ok != (least <= amount):
		return fmt.Errorf("an amount of %d for claims from %d: %t", amount, least, ok)
	case !ok:
		return nil
	case limit < k.least || limit > k.most:
		return fmt.Errorf("a cap of %d, beyond %d to %d", limit, k.least, k.most)
	}
	u := k.bound(limit)
	if bound := min(ledger.MaxCost, k.price.Bound(&u)); bound > amount {
		return fmt.Errorf("a cap of %d can cost %d, beyond %d", limit, bound, amount)
	}
	if u = k.bound(limit + 1); limit < k.most && min(ledger.MaxCost, k.price.Bound(&u)) <= amount {
		return fmt.Errorf("a cap of %d, while %d is within %d, too", limit, limit+1, amount)
	}
	return nil
}

func TestCapFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if err := checkCaps(t, (*demand).capFor); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCapForChecked is the negative control: caps that are one off are found.
func TestCapForChecked(t *testing.T) {
	t.Parallel()
	for _, off := range []int64{-1, 1} {
		found := false
		rapid.Check(t, func(t *rapid.T) {
			err := checkCaps(t, func(k *demand, amount llm.Money) (int64, bool) {
				limit, ok := k.capFor(amount)
				return limit + off, ok
			})
			found = found || err != nil
		})
		if !found {
			t.Errorf("caps that are %d off are not found", off)
		}
	}
}

// TestClientsCap holds that nothing is put in where the client gave a cap, and
// that an amount which does not suffice for it is no lower cap.
func TestClientsCap(t *testing.T) {
	t.Parallel()
	c, to := newAsked(t, asked{clientAPI: "openai", body: `{"max_tokens":1000000,"messages":[{"role":"user","content":"Hi"}]}`})
	k := demandOf(c, to, coarse)
	least, most := k.amounts()
	if least != most {
		t.Errorf("claims from %d to %d, want one amount", least, most)
	}
	if limit, ok := k.capFor(most); limit != 0 || !ok {
		t.Errorf("all that it can cost: a cap of %d, %t, want none, and that it is made", limit, ok)
	}
	if limit, ok := k.capFor(most - 1); limit != 0 || ok {
		t.Errorf("less than it can cost: a cap of %d, %t, want that it is not made", limit, ok)
	}
}

// TestInjection holds that the cap reaches each provider in its own field, and
// that without one, or beside the client's, nothing is put in.
func TestInjection(t *testing.T) {
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
	c, to := newAsked(t, asked{clientAPI: "openai", body: bodies["openai"], quirks: quirks})
	c.cap = 321
	if body, err := c.prepare(to); err != nil || string(rawjson.Get(body, "max_tokens")) != "321" || rawjson.Get(body, "max_completion_tokens") != nil {
		t.Errorf("a provider with a field of its own: %s, %v", body, err)
	}
}

func sentCap(t *testing.T, clientAPI, target, body string, limit int64, path []string) string {
	t.Helper()
	c, to := newAsked(t, asked{clientAPI: clientAPI, target: target, body: body})
	c.cap = limit
	sent, err := c.prepare(to)
	if err != nil {
		t.Fatalf("%s to %s: %v", clientAPI, target, err)
	}
	return string(rawjson.Get(sent, path...))
}

// TestInjectionOnRescue holds that an answer which goes on elsewhere is capped,
// too.
func TestInjectionOnRescue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, want string }{
		{`{"messages":[{"role":"user","content":"Hi"}]}`, "77"},
		{`{"max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`, "48"}, // of which two are written
	} {
		c, to := newAsked(t, asked{clientAPI: "openai", target: "anthropic", body: tt.body})
		c.targets = append(c.targets, *to)
		c.plan = c.table.Plan("", c.targets, c.server.now())
		t.Cleanup(c.plan.Release)
		c.cap, c.words.text = 77, []byte("Hello world")
		sent := c.goOn()
		if got := string(rawjson.Get(sent, "max_tokens")); got != tt.want {
			t.Errorf("%s: went on with a cap of %q, want %s: %s", tt.body, got, tt.want, sent)
		}
		if u := c.bound(to, coarse); u.InputTokens() != int64(len(tt.body)+len(c.words.text))+aroundRequest {
			t.Errorf("%s: %d tokens of input, want those of the words, too", tt.body, u.InputTokens())
		}
	}
}

// texts are what people write, and what they would not.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringN(0, 400, -1),
		rapid.StringMatching(`[0-9 ]{0,300}`),
		rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("a word ", n/7) }),
		rapid.Map(rapid.IntRange(0, 2000), func(n int) string { return strings.Repeat("मातृभाषा", n/24) }),
	)
}

// generated is a request at a client API.
func generated(t *rapid.T, clientAPI *dialect.Dialect) []byte {
	part := rapid.Custom(func(t *rapid.T) llm.Part {
		if rapid.IntRange(0, 5).Draw(t, "image") == 0 {
			data := strings.Repeat("AAAA", rapid.IntRange(1, 200).Draw(t, "data"))
			return llm.Part{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: data}}
		}
		return llm.Part{Kind: llm.PartText, Text: "x" + texts().Draw(t, "text")}
	})
	r := llm.Request{Model: "m", ExtraOf: "another"}
	for range rapid.IntRange(1, 5).Draw(t, "messages") {
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser, Parts: rapid.SliceOfN(part, 1, 4).Draw(t, "parts")})
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "tools") {
		r.Tools = append(r.Tools, llm.Tool{
			Name: "f" + strconv.Itoa(i), Description: texts().Draw(t, "description"),
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
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "escaped") { // as Python writes it
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
		body, _ = json.MarshalIndent(v, "", "  ")
	}
	return body
}

// TestBoundCoversServed holds generated requests, with whatever cap an amount
// affords, against what a provider serves that writes as much as it may, at
// prices of any kind.
func TestBoundCoversServed(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{Dialects: registry.All(), Seed: 1})
	t.Cleanup(sim.Close)
	clientAPIs := []string{"openai", "responses", "anthropic", "gemini"}
	models := []string{"chat:tokens=9000", "reason:tokens=2000,reasoning=3000", "tools:calls=9", "reason:tokens=5,reasoning=9000,cached=50"}
	rapid.Check(t, func(t *rapid.T) {
		a := asked{
			clientAPI: rapid.SampledFrom(clientAPIs).Draw(t, "client API"), target: rapid.SampledFrom(append(clientAPIs, "cohere", "ollama")).Draw(t, "target"),
			model: rapid.SampledFrom(models).Draw(t, "model"), price: pricing.PriceOverride{}, sizes: pricing.ModelOverride{MaxOutput: 4000},
		}
		for _, class := range []string{"input", "output", "cache_read", "cache_write", "reasoning", "image_in", "request"} {
			a.price[class] = strconv.Itoa(rapid.IntRange(0, 90).Draw(t, class))
		}
		a.body = string(generated(t, spokenOf(t, a.clientAPI)))
		how := rapid.SampledFrom([]precision{coarse, fine}).Draw(t, "how")
		share := rapid.Int64Range(0, 100).Draw(t, "share")
		if err := checkServed(t, sim, a, how, share, func(*call) {}); errors.Is(err, errNotAsked) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	})
}

// TestBoundCoversServedChecked is the negative control: a cap that is sent beyond
// what was reserved is found, and a second answer.
func TestBoundCoversServedChecked(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{Dialects: registry.All(), Seed: 1})
	t.Cleanup(sim.Close)
	a := asked{clientAPI: "openai", model: "chat:tokens=9000", body: `{"messages":[{"role":"user","content":"Hi"}]}`, sizes: pricing.ModelOverride{MaxOutput: 4000}}
	for name, spoil := range map[string]func(*call){
		"nothing":          func(*call) {},
		"a larger cap":     func(c *call) { c.cap = 9000 },
		"a second answer":  func(c *call) { c.body = []byte(`{"n":2,` + string(c.body[1:])); c.head, _ = c.op.Scan(c.body, c.r) },
		"no cap to be put": func(c *call) { c.cap = 0 },
	} {
		if err := checkServed(t, sim, a, fine, 100, spoil); (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// errNotAsked is a request that its target cannot be asked.
var errNotAsked = errors.New("the target cannot be asked for that")

// checkServed holds one request, with a cap for that share in a hundred of what
// it reserves beyond the least, against what is served for it once spoil has had
// its way with the call.
func checkServed(tb failer, sim *simulator.Server, a asked, how precision, share int64, spoil func(*call)) error {
	c, to := newAsked(tb, a)
	k := demandOf(c, to, how)
	least, most := k.amounts()
	amount := least + (most-least)*llm.Money(share)/100
	var ok bool
	if c.cap, ok = k.capFor(amount); !ok {
		return fmt.Errorf("%d is not within claims from %d", amount, least)
	}
	u := c.bound(to, how)
	spoil(c)
	body, err := c.prepare(to)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAsked, err)
	}
	served, err := serve(sim, c.speaking(to), to.Model, body)
	if err != nil {
		return err
	}
	if cost := k.price.Cost(&served, ""); cost > amount || cost > k.price.Bound(&u) {
		return fmt.Errorf("%s to %s: served %+v for %d, held %+v, at most %d of %d granted\n%s", a.clientAPI, a.target, served, cost, u, k.price.Bound(&u), amount, body)
	}
	return nil
}

// serve is what the simulator serves for a body.
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

// demandOf is what an attempt at the target needs.
func demandOf(c *call, to *route.Target, how precision) demand {
	r, usual := c.plainTextInputs(to)
	if !usual {
		r = c.costInputs(to)
	}
	return c.demand(to, &r, how)
}
