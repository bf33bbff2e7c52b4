package route_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
)

// fault returns a failure as a provider's client does.
func fault(k provider.Kind) *provider.Failure {
	return &provider.Failure{Kind: k, Err: &llm.Error{Code: llm.CodeProviderError, Message: "It failed."}}
}

func status(code int, word llm.Code) *provider.Failure {
	f := fault(provider.KindStatus)
	f.Status, f.Err.Code = code, word
	return f
}

// world holds a table of three providers, a manual clock, and the recorded events of the providers' health.
type world struct {
	t       *testing.T
	table   *route.Table
	health  *route.Health
	now     time.Time
	told    []route.Event
	account string
}

func newWorld(t *testing.T, aliases map[string]route.Alias, retries int) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	w.health = route.NewHealth(func(e route.Event) { w.told = append(w.told, e) })
	book, err := pricing.NewBook(pricing.Overrides{
		Prices: map[string]pricing.PriceOverride{"a/*": {"input": "1"}, "b/*": {"input": "1"}},
		Models: map[string]pricing.ModelOverride{"a/m": {Context: 1000}, "b/m": {Context: 500}, "c/m": {Context: 9000}},
	})
	must.Do(t, err)
	var providers []*provider.Provider
	for name, keys := range map[string]int{"a": 1, "b": 1, "c": 1, "many": 3} {
		o := provider.Options{Name: name, Dialect: registrytest.All()[1], BaseURL: "https://" + name + ".example.com/v1", Retries: retries}
		for i := range keys {
			o.APIKeys = append(o.APIKeys, llm.NewSecret(fmt.Sprintf("key-%s-%d", name, i)))
		}
		p := must.Get(provider.New(o))(t)
		t.Cleanup(p.Close)
		providers = append(providers, p)
	}
	w.table, err = route.NewTable(route.Options{Providers: providers, Book: book, Aliases: aliases, Health: w.health})
	must.Do(t, err)
	return w
}

func (w *world) plan(model string) route.Plan {
	w.t.Helper()
	targets := must.Get(w.table.Targets(nil, model, ""))(w.t)
	return w.table.Plan(route.Caller{Account: w.account}, targets, w.now)
}

// walk returns the targets that one request tries, if all fail in that way.
func (w *world) walk(model string, f *provider.Failure) (asked []string) {
	p := w.plan(model)
	for {
		asked = append(asked, p.Target().FullName())
		p.Failed(f, w.now)
		if _, ok := p.After(f, w.now); !ok {
			return asked
		}
		if len(asked) > 20 {
			w.t.Fatalf("%s is tried without end: %q", model, asked)
		}
	}
}

// TestRulesOfEachFault walks every fault over three targets.
func TestRulesOfEachFault(t *testing.T) {
	t.Parallel()
	overflow := status(400, llm.CodeInvalidRequest)
	overflow.Upstream.Code = "context_length_exceeded"
	quota := status(429, llm.CodeRateLimited)
	quota.Upstream.Code = "insufficient_quota"
	long := status(429, llm.CodeRateLimited)
	long.RetryAfter = time.Minute
	again, onward, nothing := []string{"a/m", "a/m", "a/m", "b/m", "c/m"}, []string{"a/m", "b/m", "c/m"}, []string{"a/m"}
	last := []string{"a/m", "b/m", "c/m", "c/m", "c/m"}
	tests := map[string]struct {
		f    *provider.Failure
		want []string
	}{
		"no connection":           {fault(provider.KindRefused), again},
		"no connection in time":   {fault(provider.KindConnectTimeout), again},
		"silent":                  {fault(provider.KindFirstByteTimeout), onward},
		"silent later":            {fault(provider.KindIdleTimeout), onward},
		"total":                   {fault(provider.KindTotalTimeout), nothing},
		"reset":                   {fault(provider.KindReset), again},
		"truncated":               {fault(provider.KindTruncated), again},
		"not the protocol":        {fault(provider.KindProtocol), again},
		"in the stream":           {fault(provider.KindInStream), again},
		"500":                     {status(500, llm.CodeProviderError), again},
		"504":                     {status(504, llm.CodeProviderTimeout), onward},
		"502":                     {status(502, llm.CodeProviderError), again},
		"503":                     {status(503, llm.CodeProviderUnavailable), last},
		"429":                     {status(429, llm.CodeRateLimited), last},
		"429 for a minute":        {long, onward},
		"429 without money":       {quota, onward},
		"401":                     {status(401, llm.CodeProviderError), onward},
		"no credentials":          {fault(provider.KindCredential), onward},
		"no file or port":         {fault(provider.KindShortage), nothing},
		"402":                     {status(402, llm.CodeProviderError), onward},
		"404":                     {status(404, llm.CodeModelNotFound), onward},
		"400":                     {status(400, llm.CodeInvalidRequest), nothing},
		"413":                     {status(413, llm.CodeRequestTooLarge), nothing},
		"context":                 {overflow, []string{"a/m", "c/m"}},
		"the client left":         {fault(provider.KindCanceled), nothing},
		"an answer that diverges": {&provider.Failure{Kind: provider.KindProtocol, Err: &llm.Error{Err: errors.ErrUnsupported}}, again},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, map[string]route.Alias{"all": {Targets: []string{"a/m", "b/m", "c/m"}}}, 2)
			got := w.walk("all", test.f)
			must.Equal(t, got, test.want, "the targets")
		})
	}
}

// TestPausesHonorProvider checks that a provider's own time is obeyed, and that another one is random within a bound.
func TestPausesHonorProvider(t *testing.T) {
	t.Parallel()
	told := status(429, llm.CodeRateLimited)
	told.RetryAfter = 2 * time.Second
	for range 50 {
		w := newWorld(t, nil, 2)
		p := w.plan("a/m")
		p.Failed(told, w.now)
		if pause, ok := p.After(told, w.now); !ok || pause < told.RetryAfter || pause > told.RetryAfter+100*time.Millisecond {
			t.Fatalf("got %s, %v; want 2 s and a little", pause, ok)
		}
		p = w.plan("b/m")
		f := status(500, llm.CodeProviderError)
		if pause, ok := p.After(f, w.now); !ok || pause < 0 || pause > 500*time.Millisecond {
			t.Fatalf("got %s, %v; want at most 500 ms", pause, ok)
		}
	}
}

// TestKeysRest uses a provider with three keys: one that gets 429 rests for the announced time, and the next one is
// used at once.
func TestKeysRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, 2)
	limited := status(429, llm.CodeRateLimited)
	limited.RetryAfter = 30 * time.Second
	p := w.plan("many/m")
	first := p.Target().Key
	p.Failed(limited, w.now)
	if pause, ok := p.After(limited, w.now); !ok || pause != 0 || p.Target().Key == first {
		t.Fatalf("got key %d after %s, %v; want another than %d at once", p.Target().Key, pause, ok, first)
	}
	p.Succeeded(w.now, 0)
	for range 9 {
		if p := w.plan("many/m"); p.Target().Key == first {
			t.Fatalf("key %d is used while it rests", first)
		}
	}
	w.now = w.now.Add(31 * time.Second)
	used := map[int]bool{}
	for range 9 {
		p := w.plan("many/m")
		used[p.Target().Key] = true
	}
	if len(used) != 3 {
		t.Errorf("keys %v are used after the rest, want all three", used)
	}
	// All rest: the one with the shortest rest is still used.
	for i := range 3 {
		p := w.plan("many/m")
		f := status(429, llm.CodeRateLimited)
		f.RetryAfter = time.Duration(i+1) * time.Minute
		p.Failed(f, w.now)
	}
	if p := w.plan("many/m"); p.Target() == nil {
		t.Error("no key is used while all rest")
	}
}

// TestKeysShown checks which keys are reported to rest, by their last four digits at most, and until when.
func TestKeysShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, 2)
	limited := status(429, llm.CodeRateLimited)
	limited.RetryAfter = 30 * time.Second
	p := w.plan("many/m")
	target, until := *p.Target(), w.now.Add(30*time.Second)
	p.Failed(limited, w.now)
	shown := func() route.ProviderCondition {
		all := w.table.Providers(w.now)
		return all[slices.IndexFunc(all, func(c route.ProviderCondition) bool { return c.Name == "many" })]
	}
	c := shown()
	if c.Keys != 3 || c.Resting != 1 || len(c.Credentials) != 3 {
		t.Fatalf("got %+v, want one of three keys at rest", c)
	}
	for i, k := range c.Credentials {
		if id := target.Provider.KeyID(i); len(k.Fingerprint) != 4 || !strings.HasSuffix(id, k.Fingerprint) {
			t.Errorf("key %d: got the fingerprint %q, want the end of %s", i, k.Fingerprint, id)
		}
		if rests := k.Until != nil && k.Until.Equal(until); rests != (i == target.Key) {
			t.Errorf("key %d: got it at rest until %v, want that of key %d alone, until %s", i, k.Until, target.Key, until)
		}
	}
	w.now = until
	if c := shown(); c.Resting != 0 || c.Credentials[target.Key].Until != nil {
		t.Errorf("after the rest: got %+v, want none at rest", c)
	}
}

// TestCircuitOpensAndProbes has a target fail five times in a row: it is skipped for half a minute, then one request
// probes it; each failed probe doubles the time.
func TestCircuitOpensAndProbes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]route.Alias{"two": {Targets: []string{"a/m", "b/m"}}}, 0)
	broken := status(500, llm.CodeProviderError)
	first := func() string { p := w.plan("two"); defer p.Release(); return p.Target().FullName() }
	for range 5 {
		p := w.plan("two")
		p.Failed(broken, w.now)
	}
	if got := first(); got != "b/m" {
		t.Errorf("after five failures %s is the target, want b/m", got)
	}
	if want := []route.Event{{Target: "a/m", Reason: "It failed (status 500).", Brief: "status 500", At: w.now}}; !cmp.Equal(w.told, want) {
		t.Errorf("got the events %+v, want %+v", w.told, want)
	}
	wait := 30 * time.Second
	for range 6 {
		w.now = w.now.Add(wait - time.Second)
		if got := first(); got != "b/m" {
			t.Errorf("before %s are over %s is the target, want b/m", wait, got)
		}
		w.now = w.now.Add(time.Second)
		probe := w.plan("two")
		if got := probe.Target().FullName(); got != "a/m" {
			t.Errorf("after %s %s is the target, want a probe of a/m", wait, got)
		}
		if got := first(); got != "b/m" {
			t.Errorf("during the probe %s is the target, want b/m", got)
		}
		probe.Failed(broken, w.now)
		wait = min(2*wait, 5*time.Minute)
	}
	w.now = w.now.Add(wait)
	probe := w.plan("two")
	probe.Succeeded(w.now, 0)
	for range 3 {
		if got := first(); got != "a/m" {
			t.Errorf("after a successful probe %s is the target, want a/m", got)
		}
	}
	if n := len(w.told); n != 2 || !w.told[1].Available {
		t.Errorf("got the events %+v, want one more: available", w.told)
	}
	// An abandoned probe leaves the next request to probe.
	for range 5 {
		p := w.plan("two")
		p.Failed(broken, w.now)
	}
	w.now = w.now.Add(30 * time.Second)
	probe = w.plan("two")
	probe.Release()
	if got := first(); got != "a/m" {
		t.Errorf("after an abandoned probe %s is the target, want a/m", got)
	}
}

// TestCircuitOfMany uses one that fails every other time.
func TestCircuitOfMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]route.Alias{"two": {Targets: []string{"a/m", "b/m"}}}, 0)
	for i := range 20 {
		p := w.plan("two")
		if got := p.Target().FullName(); got != "a/m" {
			t.Fatalf("after %d outcomes %s is the target, want a/m", i, got)
		}
		if i%2 == 0 {
			p.Succeeded(w.now, 0)
		} else {
			p.Failed(status(502, llm.CodeProviderError), w.now)
		}
		w.now = w.now.Add(time.Second)
	}
	if p := w.plan("two"); p.Target().FullName() != "b/m" {
		t.Errorf("half of 20 failed, and it is still a target")
	}
}

// TestLastTarget checks that the last target is tried whatever its circuit's state, and that the client's own mistakes
// count neither way.
func TestLastTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]route.Alias{"two": {Targets: []string{"a/m", "b/m"}}}, 0)
	for range 30 {
		if got := w.walk("a/m", status(500, llm.CodeProviderError)); len(got) != 1 {
			t.Fatalf("got the targets %q, want only a/m", got)
		}
	}
	for range 10 {
		w.walk("b/m", status(400, llm.CodeInvalidRequest))
	}
	if got := w.walk("two", status(500, llm.CodeProviderError)); !cmp.Equal(got, []string{"b/m", "a/m"}) {
		t.Errorf("got the targets %q, want b/m, then a/m as the last one", got)
	}
	for range 5 {
		w.walk("b/m", status(500, llm.CodeProviderError))
	}
	if got := w.walk("two", status(500, llm.CodeProviderError)); len(got) != 1 {
		t.Errorf("got the targets %q while both are open, want one", got)
	}
}

// TestRetryStorm checks that retries stay within a tenth of the requests, for any behaviour of the provider.
func TestRetryStorm(t *testing.T) {
	t.Parallel()
	retryAfter := status(429, llm.CodeRateLimited)
	retryAfter.RetryAfter = time.Second
	for name, f := range map[string]*provider.Failure{
		"500": status(500, llm.CodeProviderError), "529": status(529, llm.CodeProviderUnavailable),
		"429": status(429, llm.CodeRateLimited), "429 with a time": retryAfter,
	} {
		for _, model := range []string{"a/m", "many/m"} {
			w := newWorld(t, nil, 2)
			attempts, requests := 0, 0
			for range 60 * 20 {
				requests++
				attempts += len(w.walk(model, f))
				w.now = w.now.Add(50 * time.Millisecond)
			}
			if share := float64(attempts) / float64(requests); share > 1.10 || share < 1.01 {
				t.Errorf("%s of %s: %d attempts of %d requests, %.3f; want at most 1.10, and some", name, model, attempts, requests, share)
			}
		}
	}
}

// TestStrategiesChooseFirstTarget counts which target is first.
func TestStrategiesChooseFirstTarget(t *testing.T) {
	t.Parallel()
	three := []string{"a/m", "b/m", "c/m"}
	w := newWorld(t, map[string]route.Alias{
		"fallback": {Targets: three},
		"weighted": {Targets: three, Weights: []int{1, 2, 7}, Strategy: route.StrategyWeighted},
		"latency":  {Targets: three, Strategy: route.StrategyLatency},
		"spread":   {Targets: three, Weights: []int{1, 1, 0}, Strategy: route.StrategyWeighted},
		"quick":    {Targets: three, Weights: []int{1, 0, 1}, Strategy: route.StrategyLatency},
	}, 0)
	for model, ms := range map[string]time.Duration{"a/m": 900, "b/m": 100, "c/m": 500} {
		for range 20 {
			p := w.plan(model)
			p.Succeeded(w.now, ms*time.Millisecond)
		}
	}
	count := func(alias string) map[string]int {
		n := map[string]int{}
		for range 3000 {
			p := w.plan(alias)
			n[p.Target().FullName()]++
		}
		return n
	}
	if got := count("fallback"); got["a/m"] != 3000 {
		t.Errorf("fallback: got %v, want a/m first", got)
	}
	if got := count("weighted"); got["a/m"] < 200 || got["a/m"] > 400 || got["c/m"] < 1900 || got["c/m"] > 2300 {
		t.Errorf("weighted: got %v, want about 300, 600, 2100", got)
	}
	// The slowest of three is the better of no two; the quickest wins two draws of three.
	if got := count("latency"); got["a/m"] != 0 || got["b/m"] < 1800 || got["b/m"] > 2200 {
		t.Errorf("latency: got %v, want none of a/m and about 2000 of b/m", got)
	}
	if got := count("spread"); got["c/m"] != 0 || got["a/m"] < 1300 || got["a/m"] > 1700 {
		t.Errorf("weights 1, 1, 0: got %v, want half of a/m and of b/m each, c/m being a fallback", got)
	}
	if got := count("quick"); got["c/m"] != 3000 {
		t.Errorf("latency with weights 1, 0, 1: got %v, want only c/m, the faster one that is not a fallback", got)
	}
}

// TestFaultsOfRealAnswers checks the fault of each failure of a provider's client for a real answer.
func TestFaultsOfRealAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		body   string
		want   route.Fault
	}{
		{500, "", route.FaultServer},
		{502, "", route.FaultServer},
		{504, "", route.FaultGaveUp},
		{522, "", route.FaultGaveUp},
		{524, "<html>", route.FaultGaveUp},
		{502, "<html>", route.FaultServer},
		{408, "", route.FaultServer},
		{503, "", route.FaultOverloaded},
		{529, "", route.FaultOverloaded},
		{429, "", route.FaultLimited},
		{429, `{"error":{"code":"insufficient_quota","message":"pay"}}`, route.FaultQuota},
		{402, "", route.FaultQuota},
		{401, "", route.FaultCredentials},
		{403, "", route.FaultForbidden},
		{404, "", route.FaultModel},
		{404, `{"error":{"message":"No endpoints found that satisfy the max price for this request","code":404}}`, route.FaultDear},
		{400, `{"error":{"message":"no"}}`, route.FaultRequest},
		{422, "", route.FaultRequest},
		{413, "", route.FaultRequest},
		{400, `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8 tokens."}}`, route.FaultContext},
		{400, `{"error":{"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}`, route.FaultContext},
		{400, `{"error":{"code":"content_filter","message":"The request was refused by the content policy."}}`, route.FaultPolicy},
		{200, `{"error":{"message":"overloaded","type":"overloaded_error"}}`, route.FaultOverloaded},
		{200, `<html>`, route.FaultShape},
	}
	for _, test := range tests {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		}))
		p, err := provider.New(provider.Options{Name: "a", Dialect: registrytest.All()[1], BaseURL: ts.URL, AllowPrivate: true})
		must.Do(t, err)
		resp, err := p.Do(t.Context(), provider.Call{Op: llm.OpChat, Model: "m", Body: []byte("{}"), AttemptID: "1", Hold: leave{}})
		if err == nil {
			var body []byte
			if body, err = resp.ReadAll(); err == nil {
				_, err = p.Dialect().DecodeReply(body, p.Quirks(p.Dialect()))
			}
		}
		if got := route.FaultOf(p.Judge(err)); got != test.want {
			t.Errorf("%d %s: got fault %d, want %d (%v)", test.status, test.body, got, test.want, err)
		}
		p.Close()
		ts.Close()
	}
}

// leave permits every request.
type leave struct{}

func (leave) Use() error { return nil }
