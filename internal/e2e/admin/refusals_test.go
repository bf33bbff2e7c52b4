package admin_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// refusedOnce sends a request that is refused for each reason, and returns their ids, by reason.
func (o *office) refusedOnce() map[string]string {
	t := o.T
	limited := o.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "limited", Limits: account.Limits{RPM: 1}})
	poor := o.NewKey(account.KeyOptions{
		Account: account.DefaultName, Label: "poor", Budget: account.Budget{Limit: 1, Period: budget.PeriodDay},
	})
	narrow := o.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "narrow", Models: []string{"house/other"}})
	revoked := o.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "revoked"})
	o.Administer(func(ctx context.Context, s *account.Service) error {
		keys, err := s.Keys(ctx, account.DefaultName)
		for i := range keys {
			if err == nil && keys[i].Label == "revoked" {
				_, err = s.RevokeKey(ctx, audit.Gateway(), keys[i].ID)
			}
		}
		return err
	})
	o.MustAnswer(o.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: limited}))
	all := map[string]string{}
	for _, test := range []struct {
		reason string
		status int
		ask    harness.Ask
	}{
		{"RATE_LIMITED", 429, harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: limited}},
		{"BUDGET_EXCEEDED", 402, harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: poor}},
		{"FORBIDDEN", 403, harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: narrow}},
		{"AUTHENTICATION_ERROR", 401, harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: revoked}},
		{"MODEL_NOT_FOUND", 404, harness.Ask{Path: "/v1/chat/completions", Body: harness.Hello("nobody/nothing")}},
		{"INVALID_REQUEST", 400, harness.Ask{Path: "/v1/chat", Body: `{"model": "house/echo", "messages": 7}`}},
		{"UNSUPPORTED_MEDIA_TYPE", 415, harness.Ask{Path: "/v1/chat", Body: "{}", Header: []string{"Content-Type", "text/plain"}}},
		{"NOT_FOUND", 404, harness.Ask{Path: "/v1/responses/resp_nothing"}},
	} {
		r := o.Do(test.ask)
		if r.Status != test.status {
			t.Errorf("%s: got %d %s, want %d", test.reason, r.Status, r.Body, test.status)
		}
		all[test.reason] = r.Header.Get("X-Request-Id")
	}
	return all
}

// TestRefusalsAreFoundByTheirID refuses requests for each reason, and finds each of them in every place.
func TestRefusalsAreFoundByTheirID(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ids := o.refusedOnce()
	list := o.call(200, "GET /accounts/{account}/refusals", "", "default")
	must.Equal(t, at(list, "total"), fmt.Sprint(len(ids)), "refusals of the account")
	metrics := o.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body
	for reason, id := range ids {
		got := o.call(200, "GET /accounts/{account}/requests/{id}", "", "default", id)
		must.Equal(t, at(got, "id"), id, "id of %s", reason)
		must.Equal(t, at(got, "reason"), reason, "reason of %s", id)
		must.Equal(t, at(got, "account_name"), "default", "account of %s", reason)
		if label := map[string]string{"RATE_LIMITED": "limited", "AUTHENTICATION_ERROR": "revoked"}[reason]; label != "" {
			must.Equal(t, at(got, "key_label"), label, "key of %s", reason)
			must.Equal(t, at(o.call(200, "GET /refusals?group_by=key&reason="+reason, ""), "counts", "0", "key_label"), label, "key of the count of %s", reason)
		}
		if at(got, "message") == "" || at(got, "key_id") == "" {
			t.Errorf("%s: got %v, want a message and a key", reason, got)
		}
		one := o.call(200, "GET /accounts/{account}/refusals?reason="+reason, "", "default")
		if at(one, "total") != "1" || at(one, "counts", "0", "count") != "1" || at(one, "latest", "0", "id") != id {
			t.Errorf("%s: got %v, want the refusal %s", reason, one, id)
		}
		if !strings.Contains(metrics, `weir_refused_total{reason="`+reason+`"} 1`) {
			t.Errorf("%s: got no count of it in the metrics", reason)
		}
		harness.Await(t, "the log line of "+reason, func() bool {
			for line := range strings.SplitSeq(o.Log.String(), "\n") {
				if strings.Contains(line, `msg="requests refused"`) && strings.Contains(line, id) {
					return strings.Contains(line, "level=INFO") && strings.Contains(line, "reason="+reason)
				}
			}
			return false
		})
	}
	o.MustAnswer(o.Chat("house/echo"))
	must.Equal(t, at(o.call(200, "GET /refusals", ""), "total"), fmt.Sprint(len(ids)), "refusals after an answer")
}

// TestRefusalsOfStrangersHaveNoAccount checks that requests without a valid key are counted by reason alone, and are
// shown only to operators.
func TestRefusalsOfStrangersHaveNoAccount(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var id string
	for _, key := range []string{harness.NoKey, harness.StrangersKey(), "sk-of-another-vendor"} {
		r := o.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/secret-model"), Key: key})
		harness.WantError(t, r, http.StatusUnauthorized, "AUTHENTICATION_ERROR")
		id = r.Header.Get("X-Request-Id")
	}
	all := o.call(200, "GET /refusals?group_by=account,key,reason,model", "")
	if at(all, "total") != "3" || at(all, "counts", "0", "account_id") != "" || at(all, "counts", "0", "key_id") != "" ||
		at(all, "counts", "0", "model") != "" || at(all, "latest", "0", "id") != id {
		t.Errorf("of all: got %v, want 3 without an account, a key or a model", all)
	}
	must.Equal(t, at(o.call(200, "GET /accounts/{account}/refusals", "", "default"), "total"), "0", "refusals of the account")
	o.call(404, "GET /accounts/{account}/requests/{id}", "", "default", id)
	o.call(400, "GET /refusals?group_by=weather", "")
	o.call(400, "GET /refusals?reason=WEATHER", "")
	o.call(400, "GET /refusals?from=2026-02-01&to=2026-01-01", "")
}

// TestRefusalsHoldNoContent writes a secret into every place of a request where clients may have content by mistake.
func TestRefusalsHoldNoContent(t *testing.T) {
	t.Parallel()
	const canary = "my secret canary sings"
	o := openOffice(t)
	refused := 0
	for _, path := range []string{"/v1/chat", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"} {
		for _, members := range []string{
			`"messages": "%s"`, `"messages": [{"role": "%s", "content": "x"}]`, `"messages": [{"role": "user", "content": {"%s": 1}}]`,
			`"input": [{"type": "%s"}]`, `"input": [{"role": "%s", "content": "x"}]`, `"%s": 1, "%s": 2`, `"messages": [{"role": "user", "content": [{"type": "%s"}]}]`,
			`"max_tokens": "%s"`, `"temperature": "%s"`, `"tools": [{"type": "%s"}]`, `"tool_choice": "%s"`, `"metadata": "%s"`, `"stop": {"%s": 1}`,
			`"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "%s"}}]}]`, `"response_format": {"type": "%s"}`,
			`"messages": [{"role": "user", "content": "%s"}], "n": -1`, `"previous_response_id": "%s"`, `"model": "%s"`, `"Messages": "%s"`,
		} {
			body := strings.ReplaceAll(`{"model": "house/echo", `+members+`}`, "%s", canary)
			if r := o.Do(harness.Ask{Path: path, Body: body}); r.Status != http.StatusOK {
				refused++
			}
		}
	}
	if refused < 60 {
		t.Errorf("got %d refused requests, want at least 60", refused)
	}
	for _, path := range []string{"/admin/v1/refusals?group_by=account,key,reason,model", "/admin/v1/accounts/default/refusals"} {
		r := o.Do(harness.Ask{Path: path, Key: o.admin})
		if i := strings.Index(r.Body, "secret"); i >= 0 {
			t.Errorf("%s: got content: …%s…", path, r.Body[max(0, i-300):min(len(r.Body), i+100)])
		}
	}
	for line := range strings.SplitSeq(o.Log.String(), "\n") {
		if !strings.Contains(line, "level=DEBUG") && strings.Contains(line, "secret canary") {
			t.Errorf("got content in the log: %s", line)
		}
	}
}
