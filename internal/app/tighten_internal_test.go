package app

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
)

// TestMembersOnlyTighten checks that a member cannot loosen the limits that an owner or an operator set on the member's
// key.
func TestMembersOnlyTighten(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	member := must.Get(s.admin.People.User(t.Context(), "member@example.com"))(t)
	k, _, err := s.admin.Accounts.CreateKey(t.Context(), audit.Gateway(), account.KeyOptions{Account: "acme", Label: "mine", Creator: member.ID})
	must.Do(t, err)
	patch := "PATCH /accounts/acme/keys/" + k.ID
	s.want(http.StatusOK, "member", patch, `{"limits":{"rpm":100}}`)
	s.want(http.StatusOK, "owner", patch, `{"limits":{"rpm":10},"models":["openai/*"],"expires":"2098-01-31T00:00:00Z"}`)
	s.want(http.StatusOK, "operator", patch, `{"budget":{"limit_usd":"5","period":"month"}}`)
	for body, param := range map[string]string{
		`{"limits":null}`: "limits.rpm", `{"limits":{"rpm":11}}`: "limits.rpm", `{"budget":null}`: "budget", `{"budget":{"limit_usd":"6"}}`: "budget",
		`{"budget":{"period":"day"}}`: "budget", `{"models":null}`: "models", `{"models":["*"]}`: "models",
		`{"expires":null}`: "expires", `{"label":"yours","expires":"2099-01-31T00:00:00Z"}`: "expires",
	} {
		if got := s.want(http.StatusForbidden, "member", patch, body); got["param"] != param {
			t.Errorf("%s: got %v, want an error of %s", body, got, param)
		}
	}
	got := s.want(http.StatusOK, "member", patch, `{"label":"ours","limits":{"rpm":9,"tpm":100},"budget":{"limit_usd":"4"},"models":["openai/gpt-5"],"expires":"2097-01-31T00:00:00Z"}`)
	if got["label"] != "ours" || got["expires"] != "2097-01-31T00:00:00Z" {
		t.Errorf("tightened: got %v", got)
	}
	s.want(http.StatusOK, "owner", patch, `{"limits":null,"budget":null,"models":null,"expires":null}`)
}

// TestPlaygroundKeyExpires checks that an expired key is invalid at the playground, too.
func TestPlaygroundKeyExpires(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	play := func(want bool) {
		t.Helper()
		w := s.visit("member", http.MethodPost, "/accounts/acme/playground", `{"model":"x/y","messages":[]}`)
		if got := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "has expired"); got != want {
			t.Errorf("the playground: got %d %s, want expired %v", w.Code, w.Body, want)
		}
	}
	play(false)
	keys, err := s.admin.Accounts.Keys(t.Context(), "acme")
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys: got %v, %v, want that of the playground", keys, err)
	}
	past := account.KeyUpdate{Expires: new(keys[0].Created)}
	must.Get(s.store.Accounts.UpdateKey(t.Context(), audit.Gateway(), keys[0].ID, past))(t)
	play(true)
	if keys, err = s.admin.Accounts.Keys(t.Context(), "acme"); err != nil || len(keys) != 1 {
		t.Errorf("keys: got %v, %v, want no other one", keys, err)
	}
}
