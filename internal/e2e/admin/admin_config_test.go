package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/reconcile"
)

// runConfig changes the managed configuration by every operation, with the mistakes of each.
func (o *office) runConfig() {
	t := o.T
	const document = `{"document":{"aliases":{"fast":{"targets":["house/echo"]}}},"dry_run":%t}`
	if got := o.call(200, "POST /config", fmt.Sprintf(document, true)); at(got, "version") != "0" || at(got, "changes", "0", "name") != "fast" {
		t.Errorf("a dry run: got %v, want the change and no version", got)
	}
	if got := o.call(200, "POST /config", fmt.Sprintf(document, false)); at(got, "version") != "1" || at(got, "changes", "0", "before") != "<nil>" {
		t.Errorf("a change: got %v, want version 1", got)
	}
	o.call(200, "PUT /config/{section}/{name}", `{"input":"3","output":"4"}`, "prices", "house%2Fecho")
	o.call(200, "PUT /config/limits", `{"rpm":1000}`)
	o.call(200, "PUT /config/cors", `{"origins":["https://app.example.com"]}`)
	in := o.call(200, "GET /config", "")
	sources := map[string]string{}
	for _, one := range in["objects"].([]any) {
		sources[at(one, "section")+" "+at(one, "name")] = at(one, "source")
		if at(one, "name") == "house" && (at(one, "line") == "<nil>" || at(one, "file") != o.File) {
			t.Errorf("an object of the file: got %v, want its line", one)
		}
	}
	for name, want := range map[string]string{"providers house": "file", "aliases fast": "managed", "prices house/echo": "managed", "limits <nil>": "managed", "cors <nil>": "managed"} {
		if sources[name] != want {
			t.Errorf("%s: got the source %q, want %q", name, sources[name], want)
		}
	}
	if at(in, "version") != "4" || strings.Contains(fmt.Sprint(in), harness.UpstreamKey) {
		t.Errorf("the configuration: got %v, want version 4 and no key", in)
	}
	o.call(200, "DELETE /config/{section}/{name}", "", "prices", "house%2Fecho")
	o.call(200, "DELETE /config/cors", "")
	o.call(200, "DELETE /config/limits", "")
	versions := o.call(200, "GET /config/versions", "")
	if at(versions, "data", "0", "changes", "0", "before", "rpm") != "1000" || at(versions, "data", "0", "changes", "0", "after") != "<nil>" {
		t.Errorf("the versions: got %v, want the limits of the first one", versions)
	}
	if got := o.call(200, "GET /config/versions?limit=2", ""); at(o.call(200, "GET /config/versions?cursor="+at(got, "next_cursor"), ""), "data", "0", "version") != "5" {
		t.Errorf("the page behind: got another one than version 5 first")
	}
	if got := o.call(200, "POST /config/versions/{seq}/restore", "", "2"); at(got, "version") != "8" || at(got, "changes", "0", "name") != "house/echo" {
		t.Errorf("restore: got %v, want version 8 with the price again", got)
	}
	for _, one := range []string{"limits", "cors", "retention"} {
		o.callAs(o.admin, 409, "PUT /config/"+one, `{}`, []string{"If-Match", `"3"`})
		o.callAs(o.admin, 409, "DELETE /config/"+one, "", []string{"If-Match", `"3"`})
		o.call(404, "DELETE /config/"+one, "")
	}
	o.callAs(o.admin, 409, "PUT /config/{section}/{name}", `{"targets":["house/x"]}`, []string{"If-Match", `"3"`}, "aliases", "slow")
	o.callAs(o.admin, 409, "DELETE /config/{section}/{name}", "", []string{"If-Match", `"3"`}, "aliases", "fast")
	o.callAs(o.admin, 409, "POST /config/versions/{seq}/restore", "", []string{"If-Match", `"3"`}, "1")
	o.callAs(o.admin, 409, "POST /config", `{"version":3}`, nil)
	o.callAs(o.admin, 400, "POST /config", `{}`, []string{"If-Match", "x"})
	o.call(404, "POST /config", `{"remove":["aliases/nothing"]}`)
	for body, says := range map[string]string{
		`{"document":{"providers":{"house":{"dialect":"ollama"}}}}`:                "weir.yaml:",
		`{"remove":["providers/house"]}`:                                           "change it there",
		`{"document":{"providers":{"new":{"api_key":"x"}}}}`:                       "did you mean `api_keys`?\"",
		`{"document":{"listen":"x"}}`:                                              "cannot be managed",
		`{"document":{"aliases":{"slow":{"targets":["nobody/x"]}}}}`:               "nobody",
		`{"document":{"providers":{"new":{"dialect":"openai","base_url":"x:y"}}}}`: "providers.new.base_url",
		`{"document":[]}`: "an object",
	} {
		r := o.Do(harness.Ask{Path: "/admin/v1/config", Body: body, Key: o.admin})
		if r.Status != 400 || !strings.Contains(r.Body, says) {
			t.Errorf("%s: got %d %s, want 400 that contains %s", body, r.Status, r.Body, says)
		}
	}
	if got := o.call(200, "GET /audit?action=config.changed&limit=1", ""); at(got, "data", "0", "object", "name") != "house/echo" || at(got, "data", "0", "actor", "name") != "operator" {
		t.Errorf("the audit log: got %v, want the restored price", got)
	}
	o.call(200, "POST /config/test", `{"name":"house"}`)
	o.call(404, "POST /config/test", `{"name":"nobody"}`)
	o.call(400, "PUT /config/retention", `{"requests":"1h"}`)
	kept := func() bool {
		r := o.Do(harness.Ask{Path: "/v1/responses", Body: `{"model":"house/echo","input":"Hi"}`})
		_, id, _ := strings.Cut(r.Body, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		return r.Status == http.StatusOK && o.Do(harness.Ask{Path: "/v1/responses/" + id}).Status == http.StatusOK
	}
	if !kept() {
		t.Error("before: a response is not stored, so that this shows nothing")
	}
	o.call(200, "PUT /config/retention", `{"requests":"30d","responses":"0s"}`)
	harness.Await(o.T, "no response is kept", func() bool { return !kept() })
	o.call(200, "DELETE /config/retention", "")
	harness.Await(o.T, "responses are kept", kept)
	planned := o.call(200, "POST /config/plan", `{"document":{"limits":{"per_key":{"rpm":1}}},"accounts":{"default":{"budget":{"limit_usd":"5","period":"day"}}},"days":2}`)
	if at(planned, "total", "requests") == "<nil>" || at(planned, "cut") != "false" {
		t.Errorf("a plan: got %v", planned)
	}
	for _, body := range []string{
		`{"accounts":{"nobody":{}}}`, `{"accounts":{"default":{"models":["x"]}}}`, `{"keys":{"nothing":{}}}`, `{"days":93}`, `{"accounts":[]}`,
		`{"accounts":{"default":{"budget":{"limit_usd":"-5","period":"day"}}}}`, `{"accounts":{"default":{"limit":{}}}}`,
		`{"document":{"limits":{"rpm":-1}}}`, `{"document":[]}`,
	} {
		if refused := fmt.Sprint(o.call(400, "POST /config/plan", body)); strings.Contains(refused, "INVALID_REQUEST: ") {
			t.Errorf("POST /config/plan %s: got %s, want the sentence without its code", body, refused)
		}
	}
	o.runReconciliation()
}

// runReconciliation compares with a provider that reports, and with one that does not.
func (o *office) runReconciliation() {
	for name, path := range map[string]string{"reports": "/v1", "silent": "/nowhere"} {
		o.call(200, "PUT /config/{section}/{name}", fmt.Sprintf(`{"dialect":"openai","base_url":%q,"allow_private":true,`+
			`"api_keys":["k"],"admin_key":"the-admin-key"}`, o.upstream+path), "providers", name)
		harness.Await(o.T, name+" in force", func() bool {
			r := o.Do(harness.Ask{Method: http.MethodGet, Path: "/admin/v1/reconciliation?provider=" + name, Key: o.admin})
			return r.Status != http.StatusNotFound
		})
	}
	today := time.Now().UTC().Format(time.DateOnly)
	got := o.call(200, "GET /reconciliation?provider=reports&start_date=2026-01-01&end_date="+today, "")
	if at(got, "end_date") != today || at(got, "data", "0", "finding") != string(reconcile.More) || at(got, "unexplained") == "0" {
		o.T.Errorf("a provider that others use: got %v", got)
	}
	o.call(502, "GET /reconciliation?provider=silent", "")
	o.call(404, "GET /reconciliation?provider=nobody", "")
	o.call(400, "GET /reconciliation?provider=house", "")
	neverShown(o.Gateway, "the-admin-key")
}
