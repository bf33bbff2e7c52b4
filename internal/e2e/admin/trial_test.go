package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestProviderTrial tests providers before they are saved: each mistake is named, with the remedy.
func TestProviderTrial(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	up := harness.NewUpstream(t)
	const key = "sk-trial-0123456789-wxyz"
	other := func(answer http.HandlerFunc) string {
		s := httptest.NewServer(answer)
		t.Cleanup(s.Close)
		return s.URL
	}
	refusing := other(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s","code":"invalid_api_key"}}`, r.Header.Get("Authorization"))
	})
	shop := other(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<h1>Welcome</h1>")
	})
	bare := other(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":"b"},{"id":"a"},{"name":"models/c"},{"id":3}]`)
	})
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	for name, test := range map[string]struct{ url, problem, found, models string }{
		"right":         {up.URL + "/v1", "<nil>", "<nil>", "echo"},
		"without /v1":   {up.URL, "Set base_url to that.", up.URL + "/v1", "<nil>"},
		"a bare list":   {bare, "<nil>", "<nil>", "[a b c]"},
		"a wrong key":   {refusing + "/v1", "refuses the key api_keys[0] (…wxyz) (status 401)", "<nil>", "<nil>"},
		"another site":  {shop + "/v1", "Check base_url", "<nil>", "<nil>"},
		"nobody there":  {nobody.URL, "cannot be reached (refused). Check base_url.", "<nil>", "<nil>"},
		"too much path": {bare + "/v1/v1", "<nil>", "<nil>", "[a b c]"}, // the server answers at every path
	} {
		body := fmt.Sprintf(`{"name":"new","provider":{"dialect":"openai","base_url":%q,"allow_private":true,"api_keys":[%q]}}`, test.url, key)
		got := o.call(200, "POST /config/test", body)
		if !strings.Contains(at(got, "problem"), test.problem) || at(got, "base_url_found") != test.found || !strings.Contains(at(got, "models"), test.models) {
			t.Errorf("%s: got %v, want the problem %q, found %q, models %q", name, got, test.problem, test.found, test.models)
		}
		if text := fmt.Sprint(got) + o.Log.String(); strings.Contains(text, key) {
			t.Errorf("%s: the key is in the answer or the log", name)
		}
	}
	o.call(400, "POST /config/test", `{"name":"house","provider":{"dialect":"ollama"}}`) // it is the file's
	o.call(400, "POST /config/test", `{"name":"new","provider":{"dialect":"nothing"}}`)
}

// TestProviderTrialOfModel requests answers of a model: the working features are reported, and metered to an account of
// their own.
func TestProviderTrialOfModel(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	got := o.call(200, "POST /config/test", `{"name":"house","model":"echo"}`)
	answers, _ := got["answers"].([]any)
	if at(got, "ok") != "true" || len(answers) != 3 {
		t.Fatalf("got %v, want three answers", got)
	}
	for _, a := range answers {
		if at(a, "works") != "true" || at(a, "cost_usd") == "<nil>" {
			t.Errorf("got %v, want an answer with its cost", a)
		}
	}
	o.call(200, "POST /config/test", `{"name":"house","model":"echo"}`)
	harness.Await(t, "six requests of the account installation", func() bool {
		r := o.Do(harness.Ask{Path: "/admin/v1/accounts/installation/requests", Key: o.admin})
		return strings.Count(r.Body, `"request_id"`)+strings.Count(r.Body, `"model":"house/echo"`) >= 6
	})
	keys := o.Do(harness.Ask{Path: "/admin/v1/accounts/installation/keys", Key: o.admin})
	if n := strings.Count(keys.Body, account.PlaygroundLabel); n != 1 {
		t.Errorf("keys of the account: got %s, want one", keys.Body)
	}
	broken := o.call(200, "POST /config/test", `{"name":"house","model":"error-500"}`)
	if at(broken, "ok") != "false" || at(broken, "answers", "0", "problem") == "<nil>" {
		t.Errorf("a model that fails: got %v, want its failure", broken)
	}
}
