package meter_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
)

// inquiry describes an attempt with an unseen end, at a provider that can be asked about it.
type inquiry struct {
	name   string
	path   string // of the gateway
	body   string
	more   string // of the provider's configuration
	billed bool   // at the provider's own figure
	whole  bool   // the provider charges for all of the answer
}

func inquiries() []inquiry {
	const responses = `"stream":true,"max_output_tokens":200,"input":"Hi"`
	const chat = `"stream":true,"max_tokens":200,"messages":[{"role":"user","content":"Hi"}]`
	return []inquiry{
		{name: "openai", path: "/v1/responses", body: `{"model":"openai/chat:tokens=200,pace=10ms",` + responses + `}`, more: "    also: [responses]\n"},
		{name: "openai", path: "/v1/responses", body: `{"model":"openai/chat:tokens=200,reasoning=50,pace=10ms,after=bill",` + responses + `}`, more: "    also: [responses]\n", whole: true},
		{name: "openrouter", path: "/v1/chat/completions", body: `{"model":"openrouter/chat:tokens=200,pace=10ms",` + chat + `}`},
		{name: "openrouter", path: "/v1/chat/completions", body: `{"model":"openrouter/chat:tokens=200,pace=10ms,cost=0.000123456",` + chat + `}`, more: "    bill_by: provider\n", billed: true},
	}
}

func (q *inquiry) open(t *testing.T, upstream string, o harness.Setup) *harness.Gateway {
	o.YAML = "pricing: {margin: 0}\nproviders:" + harness.ProviderYAML(q.name, upstream) + q.more + fmt.Sprintf("prices:\n  %s/*: {input: \"10\", cache_read: \"10\", output: \"1000\"}\n", q.name)
	return harness.Open(t, o)
}

// askedRow is how /admin/v1 shows the attempt of a request.
type askedRow struct {
	Provenance  string `json:"provenance"`
	Cost        string `json:"cost_usd"`
	AtMost      string `json:"cost_at_most_usd"`
	ReplyID     string `json:"provider_reply_id"`
	Corrections []struct {
		Kind   string `json:"kind"`
		Reason string `json:"reason"`
		By     string `json:"by"`
	} `json:"corrections"`
}

// rowOf returns the only attempt of a request.
func rowOf(h *harness.Gateway, t *testing.T, id, admin string) (row askedRow) {
	t.Helper()
	var d struct {
		Attempts []askedRow `json:"attempts"`
	}
	harness.Await(t, "the settled attempt", func() bool {
		r := h.Do(harness.Ask{Path: "/admin/v1/accounts/default/requests/" + id, Key: admin})
		return json.Unmarshal([]byte(r.Body), &d) == nil && len(d.Attempts) == 1 && d.Attempts[0].Provenance != ""
	})
	return d.Attempts[0]
}

// TestProvidersResolveUnseenEnds checks that an attempt with an unseen end finally has the cost that the provider
// reports on request, everywhere, also after a restart of the gateway.
func TestProvidersResolveUnseenEnds(t *testing.T) {
	t.Parallel()
	for i, q := range inquiries() {
		t.Run(fmt.Sprintf("%d %s", i, q.name), func(t *testing.T) {
			t.Parallel()
			up, c := harness.NewUpstream(t), &clock{}
			h := q.open(t, up.URL, harness.Setup{Now: c.now})
			h.SetBudget(350*llm.USD/1000, budget.PeriodTotal) // enough for one attempt
			admin := h.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Admin}})
			id := h.Leave(harness.Ask{Path: q.path, Body: q.body}, up, 20)
			truth := up.Newest(t)
			before := rowOf(h, t, id, admin)
			if before.Provenance != "estimated" || before.Cost == before.AtMost || before.ReplyID != truth.Reply || len(before.Corrections) != 0 {
				t.Fatalf("before the question: got %+v, want an estimate with a bound of the reply %s", before, truth.Reply)
			}
			short := harness.Ask{Path: q.path, Body: strings.Replace(q.body, ",pace=10ms", "", 1)}
			if r := h.Do(short); r.Status != http.StatusPaymentRequired && r.Status != http.StatusTooManyRequests {
				t.Errorf("a second attempt got %d under a budget that the bound of the first uses up", r.Status)
			}
			must.Do(t, h.Stop())
			h = q.open(t, up.URL, harness.Setup{Now: c.now, Dir: h.Data, Key: h.Key})
			c.ahead.Add(int64(16 * time.Second))
			var after askedRow
			harness.Await(t, "the provider's word", func() bool {
				after = rowOf(h, t, id, admin)
				return len(after.Corrections) > 0
			})
			want := llm.Money(1000 * (10*truth.Usage.InputTokens() + 1000*truth.Usage.OutputTokens()))
			if q.billed {
				want = *truth.Cost
			}
			if after.Cost != want.String() || after.AtMost != after.Cost {
				t.Errorf("got a cost of %s, at most %s, want %s, the provider's charge", after.Cost, after.AtMost, want)
			}
			if x := after.Corrections[0]; x.Kind != "resolved" || x.Reason != "asked the provider" || x.By != "system weir" {
				t.Errorf("got %+v", x)
			}
			if page := h.Do(harness.Ask{Path: "/v1/uses"}).Body; strings.Contains(page, "cost_at_most") || !strings.Contains(page, `"cost":`+strings.TrimRight(want.String(), "0")) {
				t.Errorf("got uses of %s, want %s and no bound", page, want)
			}
			if r := h.Do(short); !q.whole && r.Status != http.StatusOK {
				t.Errorf("a second attempt got %d, though the budget has room again: %s", r.Status, r.Body)
			}
			h.Verify(t)
		})
	}
}

// TestProvidersWithoutUsefulAnswers checks that a provider without a useful answer is asked at most three times, for
// any behaviour, and that the bound stays.
func TestProvidersWithoutUsefulAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"not found": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":[{{{`)
		},
		"no usage": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"data":{"id":%q,"native_tokens_prompt":null,"native_tokens_completion":null,"total_cost":0}}`, r.URL.Query().Get("id"))
		},
		"another reply": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":{"id":"gen-2","native_tokens_prompt":1,"native_tokens_completion":1,"total_cost":0}}`)
		},
		"10 MB": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"data":{"id":%q,"native_tokens_prompt":1,"native_tokens_completion":1,"x":%q}}`, r.URL.Query().Get("id"), strings.Repeat("x", 10<<20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up, c := harness.NewUpstream(t), &clock{}
			var asked atomic.Int32
			target := must.Get(url.Parse(up.URL))(t)
			forward := httputil.NewSingleHostReverseProxy(target)
			forward.FlushInterval, forward.ErrorHandler = -1, func(http.ResponseWriter, *http.Request, error) {}
			chatAPI := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					asked.Add(1)
					answer(w, r)
					return
				}
				forward.ServeHTTP(w, r)
			}))
			defer chatAPI.Close()
			q := inquiries()[2]
			h := q.open(t, chatAPI.URL, harness.Setup{Now: c.now})
			admin := h.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Admin}})
			id := h.Leave(harness.Ask{Path: q.path, Body: q.body}, up, 20)
			before := rowOf(h, t, id, admin)
			for n := range int32(3) {
				c.ahead.Add(int64(11 * time.Minute))
				harness.Await(t, "the question", func() bool { return asked.Load() > n })
			}
			c.ahead.Add(int64(11 * time.Minute))
			time.Sleep(5 * time.Second)
			after := rowOf(h, t, id, admin)
			if n := asked.Load(); n != 3 || after.Cost != before.Cost || after.AtMost != before.AtMost || len(after.Corrections) != 0 {
				t.Errorf("got %d questions and %+v, want three and %+v", n, after, before)
			}
			h.Verify(t)
		})
	}
}

// TestProvidersWithoutQuestions checks that no request is sent about attempts that a provider does not store, or if its
// entry has no such operation.
func TestProvidersWithoutQuestions(t *testing.T) {
	t.Parallel()
	q := inquiries()[0]
	for _, tc := range []struct{ provider, body string }{
		{"openai", strings.Replace(q.body, `"stream"`, `"store":false,"stream"`, 1)},
		{"house", strings.Replace(q.body, "openai/", "house/", 1)},
	} {
		t.Run(tc.provider, func(t *testing.T) {
			t.Parallel()
			up, c := harness.NewUpstream(t), &clock{}
			q := q
			q.name = cmp.Or(tc.provider, q.name)
			h := q.open(t, up.URL, harness.Setup{Now: c.now})
			admin := h.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Admin}})
			id := h.Leave(harness.Ask{Path: q.path, Body: tc.body}, up, 20)
			if before := rowOf(h, t, id, admin); before.ReplyID == "" {
				t.Error("the reply has no id")
			}
			c.ahead.Add(int64(16 * time.Second))
			time.Sleep(5 * time.Second)
			if after := rowOf(h, t, id, admin); len(after.Corrections) != 0 {
				t.Errorf("got %+v", after)
			}
		})
	}
}
