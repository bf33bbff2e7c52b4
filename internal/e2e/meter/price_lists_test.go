package meter_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/charge"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

// costlyProvider answers with 1000 tokens in and 500 out, at $2 and $4 a million $0.004, and reports that cost in all
// places where providers do: in whole answers, in every event of a stream, and next to them.
func costlyProvider(t *testing.T) string {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const usage = `"usage":{"cost":0.004,"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500,"cost_details":{"upstream_inference_cost":0.004}}`
		body := make([]byte, 4096)
		n, _ := r.Body.Read(body)
		if !strings.Contains(string(body[:n]), `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, harness.Answered(","+usage+`,"weir":{"cost_usd":"0.004"}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event := `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":%s}],%s}` + "\n\n"
		fmt.Fprintf(w, event, `"role":"assistant","content":"Hello"`, "null", usage)
		fmt.Fprintf(w, event, "", `"stop"`, usage)
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(up.Close)
	return up.URL
}

func setPriceList(h *harness.Gateway, name string, l account.PriceList) {
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetPriceList(ctx, audit.Gateway(), name, l)
		return err
	})
}

// TestPriceLists checks that an account with a price list sees its charge everywhere, with a markup and at a price of
// its own, that budgets count the charge, that no place shows the cost, that operators see both, and that other
// accounts are unchanged.
func TestPriceLists(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", costlyProvider(t)) + "prices:\n  house/m: {input: \"2\", output: \"4\"}\n  house/own: {input: \"2\", output: \"4\"}\n"})
	charged, plain := h.KeyOfNew("charged"), h.KeyOfNew("plain")
	setPriceList(h, "charged", account.PriceList{Markup: 2500, Prices: map[string]pricing.PriceOverride{"house/own": {"input": "7", "output": "8"}}})
	operator := h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "operator", Permissions: []account.Permission{account.Admin}})
	for _, tt := range []struct{ key, model, cost string }{
		{charged, "house/m", "0.005"}, {charged, "house/own", "0.011"}, {plain, "house/m", "0.004"},
	} {
		for _, stream := range []bool{false, true} {
			body := fmt.Sprintf(`{"model":%q,"stream":%t,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`, tt.model, stream)
			if !stream {
				body = strings.Replace(body, `"stream_options":{"include_usage":true},`, "", 1)
			}
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body, Key: tt.key})
			told := strings.Contains(r.Body, "0.004") || strings.Contains(r.Body, "cost_details")
			if r.Status != http.StatusOK || told != (tt.key == plain) || !strings.Contains(r.Body, tt.cost) {
				t.Errorf("%s, stream %t: got %d %s, want a cost of %s and no other", tt.model, stream, r.Status, r.Body, tt.cost)
			}
			if got := r.Header.Get("X-Weir-Cost-USD"); !stream && got != tt.cost {
				t.Errorf("%s: the header has a cost of %s, want %s", tt.model, got, tt.cost)
			}
		}
	}
	for key, want := range map[string]string{charged: `"cost":0.032}`, plain: `"cost":0.008}`} {
		r := h.Do(harness.Ask{Path: "/v1/uses", Key: key})
		if !strings.Contains(r.Body, want) {
			t.Errorf("uses: got %s, want %s in all", r.Body, want)
		}
	}
	list := h.Do(harness.Ask{Path: "/v1/models", Key: charged}).Body
	if strings.Contains(list, `"prices"`) || strings.Contains(list, "operator") || !strings.Contains(list, `"id":"house/m"`) {
		t.Errorf("models: got %s, want no prices", list)
	}
	for model, want := range map[string]string{"m": `"input":"2.5","output":"5"`, "own": `"input":"7","output":"8"`} {
		one := h.Do(harness.Ask{Path: "/v1/models/house/" + model, Key: charged}).Body
		if !strings.Contains(one, want) || !strings.Contains(one, `"source":"price list"`) || strings.Contains(one, `"2"`) {
			t.Errorf("the model %s: got %s, want the prices that the account is charged", model, one)
		}
	}
	if list := h.Do(harness.Ask{Path: "/v1/models", Key: plain}).Body; !strings.Contains(list, `"output":"4"`) {
		t.Errorf("models of an account without a list: got %s, want their prices", list)
	}
	usage := h.Do(harness.Ask{Path: "/admin/v1/accounts/charged/uses", Key: operator}).Body
	if !strings.Contains(usage, `"cost_usd":"0.032","cost_at_most_usd":"0.032","unpriced":false,"purchase_usd":"0.016","purchase_at_most_usd":"0.016"`) {
		t.Errorf("an operator: got %s, want both sums", usage)
	}
	if other := h.Do(harness.Ask{Path: "/admin/v1/accounts/plain/uses", Key: operator}).Body; strings.Contains(other, "purchase") {
		t.Errorf("an account without a list: got %s", other)
	}
	r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/m","messages":[{"role":"user","content":"Hi"}]}`, Key: charged})
	detail := h.Do(harness.Ask{Path: "/admin/v1/accounts/charged/requests/" + r.Header.Get("X-Request-Id"), Key: operator}).Body
	for _, want := range []string{`"cost_usd":"0.005"`, `"purchase_usd":"0.004"`, `"provider_cost_usd":"0.004"`, `{"kind":"charge","class":null,"count":null,"rate_usd":null,"amount_usd":"0.001"}`} {
		if !strings.Contains(detail, want) {
			t.Errorf("a request for an operator: got %s, want %s", detail, want)
		}
	}
	h.Verify(t)
}

// TestBudgetOfCharges checks that a budget of an account with a price list counts the charge: it is never exceeded, and
// can be spent.
func TestBudgetOfCharges(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", costlyProvider(t)) + "prices:\n  house/*: {input: \"2\", output: \"4\"}\n"})
	setPriceList(h, account.DefaultName, account.PriceList{Markup: charge.Markup(10_000 * 9)}) // ten times the cost
	h.SetBudget(llm.USD/4, budget.PeriodTotal)
	answered := 0
	for range 20 {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/m","max_tokens":500,"messages":[{"role":"user","content":"Hi"}]}`})
		switch r.Status {
		case http.StatusOK:
			answered++
		case http.StatusTooManyRequests:
		default:
			t.Fatalf("got %d %s", r.Status, r.Body)
		}
	}
	// Each is charged $0.04; the last ones do not fit with their holds.
	if answered < 3 || answered > 6 {
		t.Errorf("%d requests of $0.04 were answered under a budget of $0.25", answered)
	}
	spent := must.Get(llm.ParseMoney(string(h.Uses("").Total.Cost)))(t)
	if want := llm.Money(answered) * llm.USD / 25; spent != want {
		t.Errorf("charged %s, want %s", spent, want)
	}
	h.Verify(t)
}

// TestOwnPriceWithoutPurchasePrice checks that an account with its own price for a model without a purchase price gets
// an exact charge, without a mark; that one with a markup gets the mark of an unpriced model, in totals too, until an
// operator corrects it by an amount; and that operators see both.
func TestOwnPriceWithoutPurchasePrice(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", costlyProvider(t)) + "    bill_by: computed\n    models: [new]\n"})
	owned, marked := h.KeyOfNew("owned"), h.KeyOfNew("marked")
	setPriceList(h, "owned", account.PriceList{Prices: map[string]pricing.PriceOverride{"house/new": {"input": "7", "output": "8"}}})
	setPriceList(h, "marked", account.PriceList{Markup: 2500})
	operator := h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "operator", Permissions: []account.Permission{account.Admin}})
	chat := func(key string) harness.Reply {
		return h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/new","max_tokens":500,"messages":[{"role":"user","content":"Hi"}]}`, Key: key})
	}
	asked := chat(marked)
	for key, want := range map[string]string{owned: "0.011", marked: ""} {
		r := asked
		if key == owned {
			r = chat(owned)
		}
		if got := r.Header.Get("X-Weir-Cost-USD"); r.Status != http.StatusOK || got != want || strings.Contains(r.Body, "0.011") != (want != "") {
			t.Errorf("got %d, a cost of %q and %s; want %q", r.Status, got, r.Body, want)
		}
	}
	uses := func(path, key string, wants ...string) {
		t.Helper()
		body := h.Do(harness.Ask{Path: path, Key: key}).Body
		for _, want := range wants {
			if not, ok := strings.CutPrefix(want, "!"); ok == strings.Contains(body, strings.TrimPrefix(want, "!")) {
				t.Errorf("%s: got %s, want %q, not %q", path, body, want, not)
			}
		}
	}
	uses("/v1/uses", owned, `"total":{"tokens":1500,"requests":1,"cost":0.011}`, `"cost":0.011}]`, "!unpriced", "!at_most")
	uses("/v1/uses?group_by=key", owned, `"total":{"tokens":1500,"requests":1,"cost":0.011}`, "!unpriced", "!at_most")
	uses("/v1/uses", marked, `"total":{"tokens":1500,"requests":1,"cost":0,"cost_at_most":0.005,"unpriced":true}`, `"cost":0,"cost_at_most":0.005,"unpriced":true}]`)
	uses("/v1/models/house/new", owned, `"input":"7","output":"8"`, "!unpriced")
	uses("/v1/models/house/new", marked, `"unpriced":true`)
	uses("/admin/v1/accounts/owned/uses", operator, `"unpriced":false`, `"purchase_usd":"0","purchase_at_most_usd":"0.004","purchase_unpriced":true`)
	uses("/admin/v1/usage", operator, `"total":{"tokens":3000,"requests":2,"cost_usd":"0.011","cost_at_most_usd":"0.016","unpriced":true,"purchase_usd":"0","purchase_at_most_usd":"0.008","purchase_unpriced":true}`)

	requests := "/admin/v1/accounts/marked/requests/" + asked.Header.Get("X-Request-Id")
	correct := func(body string, status int) {
		t.Helper()
		r := h.Do(harness.Ask{Method: http.MethodPost, Path: requests + "/attempts/1/corrections", Key: operator, Body: body})
		if r.Status != status {
			t.Errorf("%s: got %d %s, want %d", body, r.Status, r.Body, status)
		}
	}
	uses(requests, operator, `"unpriced":true,"unpriced_classes":["input","output"`)
	correct(`{"reason":"bill 7"}`, http.StatusBadRequest)
	correct(`{"amount_usd":"0.004","reason":"bill 7"}`, http.StatusCreated)
	correct(`{"amount_usd":"0","reason":"again"}`, http.StatusBadRequest)
	uses(requests, operator, `"unpriced":false,"unpriced_classes":[]`, `"priced":true,"reason":"bill 7"`, `"purchase_unpriced":false`)
	uses("/v1/uses", marked, `"cost":0.005}]`, `"cost":0.005},`, "!unpriced", "!at_most")
	uses("/admin/v1/accounts/marked/uses", operator, `"unpriced":false`, `"purchase_usd":"0.004"`, `"purchase_unpriced":false`)

	h.Verify(t)
}

// TestBudgetOfOwnPrice checks that the account's own price bounds a budget if there is no purchase price, and that
// without one the model is refused.
func TestBudgetOfOwnPrice(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", costlyProvider(t))})
	keys := map[string]string{}
	for _, name := range []string{"owned", "partly", "marked"} {
		keys[name] = h.KeyOfNew(name)
	}
	setPriceList(h, "owned", account.PriceList{Prices: map[string]pricing.PriceOverride{"house/new": {"input": "7", "output": "8"}}})
	setPriceList(h, "partly", account.PriceList{Prices: map[string]pricing.PriceOverride{"house/new": {"search": "0.01"}}})
	setPriceList(h, "marked", account.PriceList{Markup: 2500})
	const limit = llm.USD / 20
	h.Administer(func(ctx context.Context, s *account.Service) error {
		for name := range keys {
			if _, err := s.UpdateAccount(ctx, audit.Gateway(), name, account.Update{Budget: &account.Budget{Limit: limit, Period: budget.PeriodTotal}}); err != nil {
				return err
			}
		}
		return nil
	})
	answered := llm.Money(0)
	for range 8 {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Key: keys["owned"], Body: `{"model":"house/new","max_tokens":500,"messages":[{"role":"user","content":"Hi"}]}`})
		switch r.Status {
		case http.StatusOK:
			answered++
		case http.StatusTooManyRequests:
		default:
			t.Fatalf("got %d %s", r.Status, r.Body)
		}
	}
	if spent := answered * 11_000_000; answered < 3 || spent > limit {
		t.Errorf("under a budget of %s, %d requests of 0.011 were answered", limit, answered)
	}
	for _, name := range []string{"partly", "marked"} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Key: keys[name], Body: `{"model":"house/new","max_tokens":500,"messages":[{"role":"user","content":"Hi"}]}`})
		if r.Status != http.StatusForbidden || !strings.Contains(r.Body, "is unknown, so a budget cannot bound") {
			t.Errorf("%s: got %d %s, want a refusal", name, r.Status, r.Body)
		}
	}
	h.Verify(t)
}
