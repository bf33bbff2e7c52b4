package budget_test

import (
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// TestFreeModelNeedsNoRoom holds that a model which costs nothing works when the budget is spent, and that one of which a
// class has a price, or none that is known, does not.
func TestFreeModelNeedsNoRoom(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + `prices:
  house/chat: {input: "0", output: "0"}
  house/chat:tokens=3: {input: "0", output: "0.001"}
  house/chat:tokens=4: {input: "0", output: "0", request: "0.01"}
  house/chat:tokens=1: {input: "0", output: "0", request: "1"}
default_model: house/chat
`})
	h.SetBudget(llm.USD, budget.PeriodTotal)
	if r := h.Chat("house/chat:tokens=1"); r.Status != 200 {
		t.Fatalf("the request that spends the budget: %d %s", r.Status, r.Body)
	}
	for _, tt := range []struct {
		name, model, members string
		want                 int
	}{
		{"free", "house/chat", ``, 200},
		{"free, with a cap", "house/chat", `"max_tokens":5,`, 200},
		{"free, as a stream", "house/chat", `"stream":true,`, 200},
		{"free, with a search that has no price", "house/chat", `"web_search_options":{},`, 429},
		{"free input alone", "house/chat:tokens=3", ``, 429},
		{"free tokens and a fee", "house/chat:tokens=4", ``, 429},
		{"a price", "house/chat:tokens=1", ``, 429},
	} {
		body := `{"model":"` + tt.model + `",` + tt.members + `"messages":[{"role":"user","content":"Hi"}]}`
		if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body}); r.Status != tt.want {
			t.Errorf("%s: got %d %s, want %d", tt.name, r.Status, r.Body, tt.want)
		}
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	h.Verify(t)
	if got := spent(h, t); got != llm.USD {
		t.Errorf("spent $%s of a budget of $1, want $1", got)
	}
}
