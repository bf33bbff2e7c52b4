package dashboard_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// TestKeyIsChanged changes a key by its page: omitted fields stay, a member tightens and does not loosen, and others
// change nothing.
func TestKeyIsChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Member)
	s.send(t, "POST", "/accounts/acme/keys/new", newKey(url.Values{"expires": {"date"}, "date": {"2026-12-24"}, "budget": {"5"}, "period": {"month"}}), nil)
	k := s.keys(t, s.acme)[0]
	page := "/accounts/acme/keys/" + k.ID
	s.see(t, "/accounts/acme/keys", `href="`+page+`"`, "This month")
	s.see(t, page, k.ID, "On 25 Dec 2026, as now", `value="nightly"`, "Spend this month", "/accounts/acme/usage?key="+k.ID)
	form := newKey(url.Values{"label": {"weekly"}, "expires": {"keep"}, "budget": {"5.00"}, "period": {"month"}, "models": {"openai/*"}, "rpm": {"60"}, "tags": {"team=search and find\r\n\r\n project = a=b"}, "required_tags": {"region\nuse"}})
	s.do(t, page+"/change", form, page+"?done=key-changed")
	want := k
	want.Label, want.Models, want.Limits = "weekly", []string{"openai/*"}, account.Limits{RPM: 60}
	want.Tags = account.KeyTags{
		Defaults: []llm.Tag{{Name: "team", Value: "search and find"}, {Name: "project", Value: "a=b"}},
		Required: []string{"region", "use"},
	}
	must.Equal(t, s.keys(t, s.acme)[0], want, "the key after the change")
	s.see(t, page, "team=search and find\nproject=a=b</textarea>", "region\nuse</textarea>", "Patterns without a model")
	form.Set("no_content", "yes")
	s.do(t, page+"/change", form, page+"?done=key-changed")
	form.Set("no_content", "no")
	s.refused(t, page+"/change", form, "no_content") // a member only leaves requests out
	form.Del("no_content")
	s.do(t, page+"/change", form, page+"?done=key-changed")
	want.NoContent = true
	must.Equal(t, s.keys(t, s.acme)[0], want, "the key without content")
	form.Set("tags", "team")
	s.refused(t, page+"/change", form, "tags")
	form.Del("tags")
	form.Del("required_tags") // as a page of an earlier version
	form.Set("budget", "50")
	s.refused(t, page+"/change", form, "budget")
	form.Set("rpm", "many")
	s.refused(t, page+"/change", form, "rpm")

	s.come("grace", people.Member)
	if text := s.see(t, page); strings.Contains(text, "<form method=\"post\" action=\""+page) {
		t.Error("another member: got forms that change the key")
	}
	for _, what := range []string{"/change", "/rotate", "/revoke"} {
		if got := s.send(t, "POST", page+what, form, nil); got.status != http.StatusForbidden {
			t.Errorf("%s of another member: got %d, want 403", what, got.status)
		}
	}
	s.come("owner", people.Owner)
	form.Set("rpm", "")
	form.Set("expires", "never")
	s.do(t, page+"/change", form, page+"?done=key-changed")
	want.Budget, want.Limits, want.Expires = account.Budget{Limit: 50 * llm.USD, Period: budget.PeriodMonth}, account.Limits{}, nil
	must.Equal(t, s.keys(t, s.acme)[0], want, "the key after the owner's change")
	if got := s.send(t, "GET", "/accounts/other/keys/"+k.ID, nil, nil); got.status != http.StatusNotFound {
		t.Errorf("the key below another account: got %d, want 404", got.status)
	}
}

// TestKeyIsRotatedOnPage shows the new secret once, and the end of the former one.
func TestKeyIsRotatedOnPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Member)
	first := between(s.send(t, "POST", "/accounts/acme/keys/new", newKey(nil), nil).text, `<code id="key">`, `</code>`)
	k := s.keys(t, s.acme)[0]
	page := "/accounts/acme/keys/" + k.ID
	s.refused(t, page+"/rotate", url.Values{"overlap": {"1000h"}}, "overlap")
	s.refused(t, page+"/rotate", url.Values{"overlap": {"soon"}}, "overlap")
	form := url.Values{"overlap": {"168h"}, "once": {"rotate-1"}}
	second := between(s.send(t, "POST", page+"/rotate", form, nil).text, `<code id="key">`, `</code>`)
	for _, token := range []string{first, second} {
		if p, err := s.accounts.Authenticate(t.Context(), token); err != nil || p.Key().ID != k.ID {
			t.Errorf("%s: got %v, want the key", token, err)
		}
	}
	s.do(t, page+"/rotate", form, page+"?done=key-rotated")
	s.see(t, page, "Former key", "…"+first[len(first)-4:]+", valid until "+now.Add(7*24*time.Hour).Format("2 Jan 2006, 15:04"))
}

// TestKeyFormKeepsWhatIsUnchanged checks that the form of a key shows the permission for tools and the age of stored
// answers, also an unusual one, and that sending it as it is changes neither.
func TestKeyFormKeepsWhatIsUnchanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Owner)
	k := s.key(t, s.acme, "ada")
	permissions, age := []account.Permission{account.Chat, account.Tools}, 3*time.Hour
	must.Get(s.accounts.UpdateKey(t.Context(), audit.Gateway(), k.ID, account.KeyUpdate{Permissions: &permissions, AnswerCache: &age}))(t)
	page := "/accounts/acme/keys/" + k.ID
	s.see(t, page, `value="tools" checked`, `value="3h0m0s" selected`)
	form := url.Values{"label": {"ci"}, "permissions": {"chat", "tools"}, "expires": {"never"}, "answer_cache": {"3h0m0s"}}
	s.do(t, page+"/change", form, page+"?done=key-changed")
	got := s.keys(t, s.acme)[0]
	if got.Label != "ci" || !slices.Equal(got.Permissions, permissions) || got.AnswerCache != age {
		t.Errorf("got %+v, want the permissions %v and answers of %s", got, permissions, age)
	}
	form.Set("answer_cache", "1h0m0s")
	s.do(t, page+"/change", form, page+"?done=key-changed")
	must.Equal(t, s.keys(t, s.acme)[0].AnswerCache, time.Hour, "age")
	form.Set("answer_cache", "ages")
	s.refused(t, page+"/change", form, "answer_cache")
}
