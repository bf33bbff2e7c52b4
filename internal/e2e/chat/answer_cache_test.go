package chat_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// caching returns a request that asks for a stored answer.
func caching(a harness.Ask, wish string) harness.Ask {
	a.Header = append([]string{"X-Weir-Cache", wish}, a.Header...)
	return a
}

// askedCache returns a chat of a client API that may be stored: a response that the gateway stores itself may not.
func askedCache(api harness.ChatAPI, stream bool) harness.Ask {
	a, _ := api.Ask("", "house/echo", stream)
	if strings.HasSuffix(a.Path, "/responses") {
		a.Body = strings.Replace(a.Body, "{", `{"store":false,`, 1)
	}
	return a
}

// wantCached sends a request and checks where its answer comes from.
func wantCached(t *testing.T, h *harness.Gateway, a harness.Ask, want string) harness.Reply {
	t.Helper()
	r := h.Do(a)
	if got := r.Header.Get("X-Weir-Cache"); r.Status != http.StatusOK || got != want {
		t.Fatalf("%s: got %d, X-Weir-Cache %q, want 200, %q\n%s", a.Path, r.Status, got, want, r.Body)
	}
	return r
}

// TestStoredAnswerIsEqualInAllFormats asks for each answer twice in all client APIs, whole and as a stream. The bodies
// have ids, so that an answer of the provider would differ.
func TestStoredAnswerIsEqualInAllFormats(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	calls := 0
	for _, api := range harness.ChatAPIs() {
		for _, stream := range []bool{false, true} {
			a := askedCache(api, stream)
			calls += 3
			first := wantCached(t, h, caching(a, "1h"), "miss")
			again := wantCached(t, h, caching(a, "1h"), "hit")
			if again.Body != first.Body || again.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
				t.Errorf("%s: the stored answer\n%s\nis not the first\n%s", a.Path, again.Body, first.Body)
			}
			for name, want := range map[string]string{
				"X-Weir-Cost-Usd": "0", "X-Weir-Attempts": "0", "X-Weir-Model": "house/echo", "X-Weir-Provider": "house",
			} {
				if got := again.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", a.Path, name, got, want)
				}
			}
			if again.Header.Get("Age") == "" || again.Header.Get("X-Weir-Saved-Usd") == "" || first.Header.Get("Age") != "" {
				t.Errorf("%s: the headers of the stored answer are %v", a.Path, again.Header)
			}
			if first.Header.Get("X-Request-Id") == again.Header.Get("X-Request-Id") {
				t.Errorf("%s: both answers have the request id %s", a.Path, first.Header.Get("X-Request-Id"))
			}
			if other := h.Do(a); other.Header.Get("X-Weir-Cache") != "" || other.Header.Get("Age") != "" { // negative control
				t.Errorf("%s: a request that asks for no stored answer got one: %v", a.Path, other.Header)
			}
			a.Body = strings.Replace(a.Body, "again", "agaim", 1)
			wantCached(t, h, caching(a, "1h"), "miss")
		}
	}
	if n := len(up.Records(t)); n != calls {
		t.Errorf("%d requests reached the provider, want %d", n, calls)
	}
	h.Verify(t)
}

// TestStoredAnswerHasRowWithoutCost checks the row of a stored answer and the sums with it.
func TestStoredAnswerHasRowWithoutCost(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	a := caching(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Header: []string{"X-Weir-Tags", "team=search"}}, "1h")
	first := h.Entry(t, wantCached(t, h, a, "miss").Header.Get("X-Request-Id"))
	hit := h.Entry(t, wantCached(t, h, a, "hit").Header.Get("X-Request-Id"))
	if first.Cached.Hit || first.Cost == 0 {
		t.Errorf("the first row %+v, want a cost", first)
	}
	if !hit.Cached.Hit || hit.Cached.Saved != first.Cost || hit.Cost != 0 || hit.MostCost() != 0 || hit.Unpriced != 0 ||
		hit.Usage != (llm.Usage{}) || hit.FullModel() != "house/echo" || hit.Provenance != "exact" || hit.Outcome != "ok" ||
		len(hit.Attribution.Tags) != 1 || hit.Finish != first.Finish {
		t.Errorf("the row of the stored answer: %+v", hit)
	}
	if u := h.Uses("").Total; u.Requests != "2" || u.Cost.String() != first.Cost.String() || u.Unpriced {
		t.Errorf("uses %+v, want two requests with the cost of one, %s", u, first.Cost)
	}
	h.Verify(t)
}

// TestEqualRequestsAtOnceCallProviderOnce sends 1,000 equal requests at the same time.
func TestEqualRequestsAtOnceCallProviderOnce(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	const many = 1000
	bodies, told := make([]string, many), map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	h.Client.Transport.(*http.Transport).MaxConnsPerHost = many
	for i := range many {
		all.Go(func() {
			r := h.Do(caching(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo:ttft=2s")}, "1h"))
			mu.Lock()
			defer mu.Unlock()
			bodies[i] = r.Body
			told[fmt.Sprint(r.Status, " ", r.Header.Get("X-Weir-Cache"))]++
		})
	}
	all.Wait()
	if n := len(up.Records(t)); n != 1 || told["200 miss"] != 1 || told["200 hit"] != many-1 {
		t.Errorf("%d requests reached the provider, want 1; answers %v", n, told)
	}
	for _, body := range bodies {
		if body != bodies[0] {
			t.Fatalf("two answers differ:\n%s\n%s", body, bodies[0])
		}
	}
	h.Verify(t)
}

// TestFollowersGoOnAfterFailedLeader checks that requests that waited for a failed one go to the provider themselves,
// and that no error is stored.
func TestFollowersGoOnAfterFailedLeader(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	const many = 5
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			r := h.Do(caching(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo:ttft=1s,status=500")}, "1h"))
			if r.Status < 500 || r.Header.Get("Age") != "" {
				t.Errorf("got %d, Age %q, want the provider's error", r.Status, r.Header.Get("Age"))
			}
		})
	}
	all.Wait()
	if n := len(up.Records(t)); n != many {
		t.Errorf("%d requests reached the provider, want %d", n, many)
	}
}

// TestAnswersThatAreNotStored sends requests whose answers must not be stored, each twice.
func TestAnswersThatAreNotStored(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	stored := `{"model":"house/echo","input":"Hi"}`
	tools := strings.Replace(harness.Completion("house/echo", `,"tools":[{"type":"function","function":{"name":"f"}}]`), " ", "  ", 1)
	for _, test := range []struct {
		name, path, body, wish, want string
		header                       []string
	}{
		{"a cut stream", "/v1/chat/completions", harness.Completion("house/chat:fault=cut,at=3", `,"stream":true`), "1h", "miss", nil},
		{"an error", "/v1/chat", harness.Hello("house/chat:status=500"), "1h", "", nil},
		{"tools", "/v1/chat/completions", tools, "1h", "bypass", nil},
		{"off", "/v1/chat", harness.Hello("house/echo"), "off", "", nil},
		{"a stored response", "/v1/responses", stored, "1h", "bypass", nil},
		{"an idempotent request", "/v1/chat", harness.Hello("house/echo"), "1h", "bypass", []string{"Idempotency-Key"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i := range 2 {
				a := harness.Ask{Path: test.path, Body: test.body}
				if test.header != nil {
					a.Header = []string{test.header[0], fmt.Sprint(i)}
				}
				if r := h.Do(caching(a, test.wish)); r.Header.Get("X-Weir-Cache") != test.want {
					t.Errorf("try %d: got %d, X-Weir-Cache %q, want %q\n%s", i, r.Status, r.Header.Get("X-Weir-Cache"), test.want, r.Body)
				}
			}
		})
	}
	a := harness.Ask{Path: "/v1/chat/completions", Body: tools}
	wantCached(t, h, caching(a, "1h; tools"), "miss") // the control: the same request, if tools are asked for
	wantCached(t, h, caching(a, "1h; tools"), "hit")
	if e := harness.WantError(t, h.Do(caching(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo")}, "soon")), 400, "INVALID_REQUEST"); !strings.Contains(e.Message, "15m") {
		t.Errorf("message %q, want an example", e.Message)
	}
}

// TestStoredAnswersFollowModel runs random requests of three accounts and compares each answer with a model: an answer
// is stored exactly if the same account has sent an equal request before. Members in another order and white space
// make equal requests; a member more, another case, another API or a stream do not. Without the account in the
// model's key, which is the negative control, the model is wrong.
func TestStoredAnswersFollowModel(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	keys := []string{h.Key, h.KeyOfNew("second"), h.KeyOfNew("third")}
	forms := []string{
		`{"model":"house/echo","messages":[{"role":"user","content":"%s"}]%s}`,
		`{ "messages": [ { "role": "user", "content": "%s" } ]%s, "model": "house/echo" }`,
	}
	across := 0
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 48))
		model, shared := map[string]string{}, map[string]bool{}
		for range 120 {
			who, form := random.IntN(len(keys)), forms[random.IntN(len(forms))]
			text := []string{"Hi", "hi", "H i", "Hi "}[random.IntN(4)] + fmt.Sprint(" ", seed)
			more := []string{"", `,"temperature":0`, `,"user":"u"`, `,"stream":true`}[random.IntN(4)]
			path := []string{"/v1/chat/completions", "/v1/chat/completions?x=1"}[random.IntN(2)]
			r := h.Do(caching(harness.Ask{Path: path, Body: fmt.Sprintf(form, text, more), Key: keys[who]}, "1h"))
			request := fmt.Sprint(path, text, more)
			id := fmt.Sprint(who, request)
			before, want := model[id], "miss"
			if before != "" {
				want = "hit"
			}
			if shared[request] && before == "" {
				across++
			}
			if got := r.Header.Get("X-Weir-Cache"); got != want || before != "" && r.Body != before {
				t.Fatalf("seed %d: X-Weir-Cache %q, want %q: account %d, %s\n%s\nbefore\n%s", seed, got, want, who, request, r.Body, before)
			}
			model[id], shared[request] = r.Body, true
		}
	}
	if across == 0 {
		t.Error("no account sent a request that only another one had sent before: the model proves nothing")
	}
	h.Verify(t)
}

// TestAliasAsksForStoredAnswers checks the order of header, key and alias, and the bound of the operator.
func TestAliasAsksForStoredAnswers(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) +
		"aliases: {remembers: {targets: [house/echo], answer_cache: 1h}, forgets: {targets: [house/echo]}}\n"})
	ask := func(model string) harness.Ask { return harness.Ask{Path: "/v1/chat", Body: harness.Hello(model)} }
	wantCached(t, h, ask("remembers"), "miss")
	wantCached(t, h, ask("remembers"), "hit")
	wantCached(t, h, caching(ask("remembers"), "off"), "")
	wantCached(t, h, ask("forgets"), "")
	wantCached(t, h, caching(ask("forgets"), "1h"), "miss") // another name of the model is another request
	off := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "answer_cache: {longest: 0s}\n"})
	wantCached(t, off, caching(ask("house/echo"), "1h"), "")
}
