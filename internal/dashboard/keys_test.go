package dashboard_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// newKey returns a form that creates a key, with some values changed.
func newKey(change url.Values) url.Values {
	form := url.Values{"label": {"nightly"}, "permissions": {"chat", "uses"}, "expires": {"never"}, "period": {"month"}}
	for name, values := range change {
		form[name] = values
	}
	return form
}

func TestKeyIsMadeAndShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Member)
	got := s.send(t, "POST", "/accounts/acme/keys/new", newKey(url.Values{
		"permissions": {"chat"}, "models": {"openai/*, house/small\nhouse/large"}, "expires": {"date"}, "date": {"2026-12-01"},
		"rpm": {"1,200"}, "tpm": {"200 000"}, "concurrency": {"4"}, "budget": {"$1,000.50"}, "period": {"day"}, "once": {"form-1"},
	}), nil)
	if got.status != http.StatusOK {
		t.Fatalf("status: got %d, want 200: %s", got.status, got.text)
	}
	all := s.keys(t, s.acme)
	if len(all) != 1 {
		t.Fatalf("keys: got %d, want 1", len(all))
	}
	k := all[0]
	want := account.Key{
		ID: k.ID, AccountID: s.acme.ID, Label: "nightly", Last4: k.Last4, Creator: "ada", Person: "ada",
		Created:     now,
		Permissions: []account.Permission{account.Chat}, Models: []string{"openai/*", "house/small", "house/large"},
		Expires: new(time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)),
		Limits:  account.Limits{RPM: 1200, TPM: 200_000, Concurrency: 4},
		Budget:  account.Budget{Limit: 1000*llm.USD + llm.USD/2, Period: budget.PeriodDay},
	}
	must.Equal(t, k, want, "key")
	token := between(got.text, `<code id="key">`, `</code>`)
	if p, err := s.accounts.Authenticate(t.Context(), token); err != nil || p.Key().ID != k.ID {
		t.Errorf("the key that is shown, %q: got %v, want the one that was made", token, err)
	}
	for _, snippet := range []string{"curl https://weir.example.com/v1/chat", "https://weir.example.com/v1&#34;, api_key=", "baseURL: &#34;https://weir.example.com/v1", "option.WithAPIKey(&#34;" + token, "house/small"} {
		if !strings.Contains(got.text, snippet) {
			t.Errorf("snippets: got none with %q", snippet)
		}
	}
	again := s.send(t, "POST", "/accounts/acme/keys/new", newKey(url.Values{"once": {"form-1"}}), nil)
	if again.status != http.StatusSeeOther || again.header.Get("Location") != "/accounts/acme/keys?done=key-made" {
		t.Errorf("the form sent again: got %d to %q, want 303 to the keys", again.status, again.header.Get("Location"))
	}
	if got := len(s.keys(t, s.acme)); got != 1 {
		t.Errorf("keys after the form was sent again: got %d, want 1", got)
	}
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

func TestKeyFormIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Owner)
	for _, c := range []struct {
		change url.Values
		field  string
	}{
		{url.Values{"label": {""}}, "label"},
		{url.Values{"label": {strings.Repeat("x", 101)}}, "label"},
		{url.Values{"permissions": nil}, "permissions"},
		{url.Values{"permissions": {"admin"}}, "permissions"},
		{url.Values{"permissions": {"chat", "admin"}}, "permissions"},
		{url.Values{"permissions": {"chat", "chat"}}, "permissions"},
		{url.Values{"models": {strings.Repeat("x", 201)}}, "models"},
		{url.Values{"expires": {"soon"}}, "expires"},
		{url.Values{"expires": {"date"}}, "date"},
		{url.Values{"expires": {"date"}, "date": {"2026-11-20"}}, "date"},
		{url.Values{"expires": {"date"}, "date": {"9999-01-01"}}, "date"},
		{url.Values{"rpm": {"many"}}, "rpm"},
		{url.Values{"tpm": {"-1"}}, "tpm"},
		{url.Values{"concurrency": {"1.5"}}, "concurrency"},
		{url.Values{"rpm": {"9223372036854775808"}}, "rpm"},
		{url.Values{"budget": {"0"}}, "budget"},
		{url.Values{"budget": {"1e9"}}, "budget"},
		{url.Values{"budget": {"2000000000"}}, "budget"},
		{url.Values{"budget": {"5"}, "period": {"week"}}, "period"},
	} {
		got := s.send(t, "POST", "/accounts/acme/keys/new", newKey(c.change), nil)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, `id="f-`+c.field+`-error"`) {
			t.Errorf("%v: got %d, want 422 with an error at %s", c.change, got.status, c.field)
		}
	}
	if got := s.keys(t, s.acme); len(got) != 0 {
		t.Errorf("keys: got %d, want 0", len(got))
	}
}

// TestOnlyOperatorsMakeAdministrators checks that only people with the right can permit administration.
func TestOnlyOperatorsMakeAdministrators(t *testing.T) {
	t.Parallel()
	s := founded(t)
	a := must.Get(s.accounts.Account(t.Context(), account.DefaultName))(t)
	got := s.send(t, "POST", "/accounts/default/keys/new", newKey(url.Values{"permissions": {"admin"}}), nil)
	all := s.keys(t, a)
	if got.status != http.StatusOK || len(all) != 1 || !slices.Contains(all[0].Permissions, account.Admin) {
		t.Errorf("an operator's: got %d and %v, want a key that administers", got.status, all)
	}
}

// TestServiceKeys has owners and operators create service keys, which members cannot.
func TestServiceKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role        people.Role // empty for an operator
		permissions []string
		service     bool
		made        bool
	}{
		{people.Owner, []string{"chat"}, true, true},
		{"", []string{"chat"}, true, true},
		{"", []string{"admin"}, true, false},
		{people.Owner, []string{"chat"}, false, true},
		{people.Member, []string{"chat"}, true, false},
		{people.Member, []string{"chat"}, false, true},
	} {
		s := newSite(t, true)
		s.come("ada", c.role)
		if offered := strings.Contains(s.send(t, "GET", "/accounts/acme/keys/new", nil, nil).text, `name="service"`); offered != (c.role != people.Member) {
			t.Errorf("%s: the form offers a service key: got %v", c.role, offered)
		}
		form := newKey(url.Values{"permissions": c.permissions})
		if c.service {
			form.Set("service", "yes")
		}
		got := s.send(t, "POST", "/accounts/acme/keys/new", form, nil)
		all := s.keys(t, s.acme)
		if (len(all) == 1) != c.made {
			t.Errorf("%+v: got %d and %d keys", c, got.status, len(all))
			continue
		}
		if !c.made {
			continue
		}
		if (all[0].Creator == "") != c.service {
			t.Errorf("%+v: got a key of %q", c, all[0].Creator)
		}
		if list := s.send(t, "GET", "/accounts/acme/keys", nil, nil).text; strings.Contains(list, "service key") != c.service {
			t.Errorf("%+v: got it listed as a service key: %v", c, !c.service)
		}
	}
}

// TestRevokeNeedsRole checks who may revoke which key.
func TestRevokeNeedsRole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		role    people.Role
		of      string // account of the path
		creator string
		elsew   bool // the key is of the other account
		want    int
	}{
		{"an owner any", people.Owner, "acme", "bob", false, http.StatusSeeOther},
		{"an operator any", "", "acme", "bob", false, http.StatusSeeOther},
		{"a member their own", people.Member, "acme", "ada", false, http.StatusSeeOther},
		{"a member another's", people.Member, "acme", "bob", false, http.StatusForbidden},
		{"a member nobody's", people.Member, "acme", "", false, http.StatusForbidden},
		{"a viewer", people.Viewer, "acme", "ada", false, http.StatusForbidden},
		{"an owner one of another account, by their own", people.Owner, "acme", "ada", true, http.StatusNotFound},
		{"an owner one of another account", people.Owner, "other", "ada", true, http.StatusNotFound},
		{"an operator one of another account, by this one", "", "acme", "ada", true, http.StatusNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, true)
			s.come("ada", c.role)
			of := s.acme
			if c.elsew {
				of = s.other
			}
			beside := s.key(t, s.acme, c.creator)
			k := s.key(t, of, c.creator)
			got := s.send(t, "POST", "/accounts/"+c.of+"/keys/"+k.ID+"/revoke", url.Values{}, nil)
			revoked := false
			for _, one := range append(s.keys(t, s.acme), s.keys(t, s.other)...) {
				if one.ID == beside.ID && one.Revoked != nil {
					t.Error("the other key: got it revoked")
				}
				revoked = revoked || one.ID == k.ID && one.Revoked != nil
			}
			if got.status != c.want || revoked != (c.want == http.StatusSeeOther) {
				t.Errorf("got %d, revoked %v, want %d", got.status, revoked, c.want)
			}
		})
	}
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Owner)
	got := s.send(t, "POST", "/accounts/acme/keys/new", newKey(url.Values{"label": {strings.Repeat("x", 70<<10)}}), nil)
	if got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("70 KiB: got %d, want 413", got.status)
	}
}
