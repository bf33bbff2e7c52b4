package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/audit"
	"weir/internal/dashboard"
	"weir/internal/people"
)

// TestQueriesAreBounded checks that the longest queries that a head can have are refused.
func TestQueriesAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	long := strings.Repeat("%2F%20", 14_000)
	for _, role := range []people.Role{people.Viewer, ""} { // operators have the same bounds
		s.come("ada", role)
		for _, path := range []string{
			"/accounts/acme/models?q=", "/accounts/acme/models?provider=", "/accounts/acme/models?can=", "/accounts/acme/requests?model=",
			"/accounts/acme/requests?key=", "/accounts/acme/requests?after=", "/accounts/acme/usage?model=", "/accounts/acme/usage?tag=",
			"/accounts/acme/usage?key=", "/accounts/acme/keys?show=", "/accounts/acme?month=", "/sign-in?next=", "/me?done=",
		} {
			if got := s.send(t, "GET", path+long, nil, nil); got.status != http.StatusBadRequest {
				t.Errorf("%s with %d bytes, as %q: got %d, want 400", path, len(long), role, got.status)
			}
		}
	}
	s.come("root", "")
	for _, path := range []string{"/operator/people?q=", "/operator/prices?q=", "/operator/audit?actor=", "/operator/accounts?q="} {
		if got := s.send(t, "GET", path+long, nil, nil); got.status != http.StatusBadRequest {
			t.Errorf("%s with %d bytes: got %d, want 400", path, len(long), got.status)
		}
	}
	s.come("ada", people.Viewer)
	if got := s.send(t, "GET", "/accounts/acme/models?q="+strings.Repeat("x+", 129), nil, nil); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.text, "longer than 256 bytes") {
		t.Errorf("a name of 258 bytes: got %d, want 422 with the bound", got.status)
	}
	if got := s.send(t, "GET", "/accounts/acme/models?q="+strings.Repeat("x", 256), nil, nil); got.status != http.StatusOK {
		t.Errorf("a name of 256 bytes: got %d, want 200", got.status)
	}
}

// TestModelSearchTakesATurn checks that the page of models is searched in the account's turn.
func TestModelSearchTakesATurn(t *testing.T) {
	t.Parallel()
	var turns []string
	s := newSiteWith(t, func(o *dashboard.Options) {
		o.Turn = func(_ *http.Request, account string, size int64, work func() error) error {
			turns = append(turns, fmt.Sprint(account, size > 0))
			return work()
		}
	})
	s.come("ada", people.Viewer)
	s.send(t, "GET", "/accounts/acme/models", nil, nil)
	if want := fmt.Sprint(s.acme.ID, true); len(turns) != 1 || turns[0] != want {
		t.Errorf("turns: got %v, want %s", turns, want)
	}
}

// TestTailsAreShared has many people of an account follow requests live: others and operators still can.
func TestTailsAreShared(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	count := func(id string, role people.Role, path string, most int) (taken int) {
		s.come(id, role)
		for range most {
			if resp := s.follow(t, path); resp.StatusCode == http.StatusOK {
				taken++
			}
		}
		return taken
	}
	taken := 0
	for i := range 6 {
		taken += count(fmt.Sprint("mallory", i), people.Viewer, "/accounts/acme/requests/tail", 8)
	}
	if taken == 0 || taken > 16 {
		t.Errorf("people of one account: got %d live tails, want some and at most half of 32", taken)
	}
	other, err := s.accounts.CreateAccount(t.Context(), audit.Gateway(), "third")
	if err != nil {
		t.Fatal(err)
	}
	s.visitor = people.NewVisitor(people.User{ID: "bob", Email: "bob@example.com"}, &people.Session{ID: "s-bob"},
		[]people.Membership{{AccountID: other.ID, AccountName: "third", Role: people.Viewer}})
	if resp := s.follow(t, "/accounts/third/requests/tail"); resp.StatusCode != http.StatusOK {
		t.Errorf("a person of another account: got %d, want 200", resp.StatusCode)
	}
	if n := count("root", "", "/accounts/acme/requests/tail", 8); n != 8 {
		t.Errorf("an operator: got %d live tails, want 8", n)
	}
}
