package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// TestStatementsAreClosedAndRead has an operator close months, and members read their charges.
func TestStatementsAreClosedAndRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	const list = "/accounts/acme/statements"
	// 40 days ago is in October
	marked := used(s.acme, ago(40, 0), "openai/marked")
	marked.Margin = llm.USD/100 + 100_000 // the account pays more than the provider charges
	s.journal().apply(t, nil, used(s.acme, ago(40, 1), "openai/gpt"), used(s.acme, ago(0, 0), "openai/november"), marked, used(s.other, ago(40, 0), "openai/foreign"))

	s.come("ada", people.Owner)
	if text := s.see(t, list, "No statements yet"); strings.Contains(text, "Close a month") {
		t.Error("an owner: got a form that only operators may send")
	}
	closing := func(month string) answer {
		return s.send(t, "POST", list+"/close", url.Values{"month": {month}}, nil)
	}
	if got := closing("2026-10"); got.status != http.StatusForbidden {
		t.Errorf("an owner closes a month: got %d, want 403", got.status)
	}
	s.come("olga", "")
	for month, status := range map[string]int{"soon": 422, "2026-11": 422, "2027-01": 422, "": 422} {
		if got := closing(month); got.status != status {
			t.Errorf("%q: got %d, want %d", month, got.status, status)
		}
	}
	if got := closing("2026-10"); got.status != http.StatusSeeOther || got.header.Get("Location") != list+"?done=statement-closed" {
		t.Fatalf("October: got %d to %q", got.status, got.header.Get("Location"))
	}
	if got := closing("2026-10"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, "the next one is for 2026-11") {
		t.Errorf("October again: got %d, want it refused", got.status)
	}
	if all := must.Get(s.store.Reports.Statements(t.Context(), s.acme.ID))(t); len(all) != 1 {
		t.Errorf("statements: got %d, want 1", len(all))
	}
	s.see(t, "/operator/statements?month=2026-10", ">acme<", "Statement 1", "Draft", ">other<", "$0.01")
	if got := s.send(t, "GET", "/operator/statements?month=soon", nil, nil); got.status != http.StatusBadRequest {
		t.Errorf("a month called soon: got %d, want 400", got.status)
	}
	s.come("ada", people.Viewer)
	s.see(t, list, "Statement 1", "2026-10", "$0.01465")
	s.see(t, list+"/1", "Amount payable", "-$0.00465", "half a cent away from zero", "USD")
	draft := s.see(t, list+"/draft", "Draft of November 2026", "This is a draft", "november", "$0.002275", `"/accounts/acme/statements/draft/csv?month=2026-11"`)
	if strings.Contains(draft, "SHA-256") {
		t.Error("the draft: got a hash")
	}
	if got := s.send(t, "GET", list+"/draft/csv", nil, nil); !strings.Contains(got.text, ",0,2026-11,,(rounding),0,0,-0.002275000,") {
		t.Errorf("the draft's file: got %s", got.text)
	}
	for _, path := range []string{"/draft?month=2026-10", "/draft?month=2026-12", "/draft?month=x"} {
		if got := s.send(t, "GET", list+path, nil, nil); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", path, got.status)
		}
	}
	if got := s.send(t, "GET", "/operator/statements", nil, nil); got.status == http.StatusOK {
		t.Error("a viewer: got the statements of all accounts")
	}
	text := strings.ReplaceAll(s.see(t, list+"/1", "$0.01465", "$0.012375", "2026-10-12"), "<wbr>", "")
	for _, not := range []string{"foreign", "november", "urchase", "$0.00455"} {
		if strings.Contains(text, not) {
			t.Errorf("the statement: got %q in it", not)
		}
	}
	file := s.send(t, "GET", list+"/1/csv", nil, nil)
	if got := file.header.Get("Content-Disposition"); file.status != http.StatusOK || got != "attachment; filename=statement-acme-1-2026-10.csv" {
		t.Errorf("the file: got %d with %q", file.status, got)
	}
	if want := s.acme.ID + ",1,2026-10,2026-10-12,openai/gpt,1,1300,0.002275000,0.002275000,false,0,acme,USD\n"; !strings.Contains(file.text, want) {
		t.Errorf("the file: got %q, want %q in it", file.text, want)
	}
	for _, path := range []string{list + "/2", list + "/0", list + "/x", list + "/2/csv", "/accounts/other/statements", "/accounts/other/statements/1/csv"} {
		if got := s.send(t, "GET", path, nil, nil); got.status != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, got.status)
		}
	}
}
