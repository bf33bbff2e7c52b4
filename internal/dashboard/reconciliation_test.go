package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/people"
)

// TestReconciliationPageAndFile compares a provider with the ledger, on a page and in a file.
func TestReconciliationPageAndFile(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	const page = "/operator/providers/house/reconciliation"
	s.come("ada", people.Owner)
	if got := s.send(t, "GET", page, nil, nil); got.status != http.StatusForbidden {
		t.Errorf("an owner: got %d, want 403", got.status)
	}
	large, small := used(s.acme, ago(20, 0), "house/large"), used(s.acme, ago(20, 1), "house/=small")
	large.Usage, large.Cost = llm.Usage{llm.Input: 1204}, llm.USD
	small.Usage, small.Cost, small.AtMost = llm.Usage{llm.Output: 7}, llm.USD, 3*llm.USD/2
	s.journal().apply(t, nil, large, small)
	s.come("olga", "")
	s.see(t, "/operator/providers/house", page)
	if text := s.see(t, page, `value="2026-11-14"`, `value="2026-11-20"`); strings.Contains(text, "Differences") {
		t.Error("before days are chosen: got a comparison")
	}
	const days = "?from=2026-11-01&to=2026-11-03"
	text := s.see(t, page+days, "$2.00", "$4.00", "Provider has more", "provider: $3.00", "$1.00 to $1.50", "1 more models on a day agree", page+"/csv?from=2026-11-01&amp;to=2026-11-03")
	if !strings.Contains(text, "<svg") || strings.Contains(text, "large") {
		t.Error("got no chart, or a model that agrees")
	}
	for query, want := range map[string]int{"?from=2026-11-31&to=2026-11-03": 422, "?from=2026-11-04&to=2026-11-03": 422, "?from=2026-11-13&to=2026-11-14": 502} {
		if got := s.send(t, "GET", page+query, nil, nil); got.status != want || strings.Contains(got.text, "Differences") {
			t.Errorf("%s: got %d, want %d without a comparison", query, got.status, want)
		}
	}
	if got := s.send(t, "GET", "/operator/providers/nobody/reconciliation", nil, nil); got.status != http.StatusNotFound {
		t.Errorf("of an unknown provider: got %d, want 404", got.status)
	}
	elsewhere := http.Header{"Sec-Fetch-Site": {"cross-site"}}
	if got := s.send(t, "GET", page+days, nil, elsewhere); got.status != http.StatusOK || strings.Contains(got.text, "Differences") {
		t.Errorf("a link of another site: got %d, want no comparison", got.status)
	}
	file := s.send(t, "GET", page+"/csv"+days, nil, nil)
	want := "2026-11-01,'=small,0,0,0,0,7,77,1.000000000,1.500000000,3.000000000,more,false\n"
	if file.status != http.StatusOK || !strings.Contains(file.text, want) || !strings.Contains(file.text, "large,1204,1204,0,0,0,0,1.000000000,1.000000000,1.000000000,agrees,true") {
		t.Errorf("the file: got %d %s", file.status, file.text)
	}
	if got := s.send(t, "GET", page+"/csv?from=2026-11-13&to=2026-11-14", nil, nil); got.status != http.StatusBadGateway {
		t.Errorf("a file of a provider that fails: got %d, want 502", got.status)
	}
	if got := s.send(t, "GET", page+"/csv", nil, nil); got.status != http.StatusBadRequest {
		t.Errorf("a file of no days: got %d, want 400", got.status)
	}
}
