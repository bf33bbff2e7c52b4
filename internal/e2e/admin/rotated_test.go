package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestResponsesStoredBeforeRotation rotates a key: responses stored with its former token are reported as not found
// with the new one; the former token still finds them.
func TestResponsesStoredBeforeRotation(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	k := o.call(201, "POST /accounts/{account}/keys", `{"label":"app"}`, "default")
	id, former := at(k, "id"), at(k, "key")
	ask := func(token, method, path, body, once string) harness.Reply {
		var header []string
		if once != "" {
			header = []string{"Idempotency-Key", once}
		}
		return o.Do(harness.Ask{Method: method, Path: path, Body: body, Key: token, Header: header})
	}
	const once = `{"model":"house/echo","input":"Hello once"}`
	first := ask(former, "POST", "/v1/responses", `{"model":"house/echo","input":"Hello"}`, "")
	if first.Status != http.StatusOK {
		t.Fatalf("POST /v1/responses: got %d, %s", first.Status, first.Body)
	}
	var kept map[string]any
	harness.Decode(t, first.Body, &kept)
	response, item := at(kept, "id"), at(kept, "output", "0", "id")
	ask(former, "POST", "/v1/responses", once, "key-1")
	token := at(o.call(200, "POST /accounts/{account}/keys/{key}/rotate", `{"overlap_seconds":600}`, "default", id), "key")
	goOn := `{"model":"house/echo","input":"And","previous_response_id":"` + response + `"}`
	refer := `{"model":"house/echo","input":[{"type":"item_reference","id":"` + item + `"},{"role":"user","content":"And"}]}`
	for _, test := range []struct {
		method, path, body, once string
		status                   int
		says                     string
	}{
		{"GET", "/v1/responses/" + response, "", "", 404, "not found"},
		{"GET", "/v1/responses/" + response + "/input_items", "", "", 404, "not found"},
		{"POST", "/v1/responses", goOn, "", 400, "previous_response_not_found"},
		{"POST", "/v1/responses", refer, "", 400, "not found"},
		{"POST", "/v1/responses", once, "key-1", 409, "rotated"},
	} {
		got := ask(token, test.method, test.path, test.body, test.once)
		if got.Status != test.status || !strings.Contains(strings.ToLower(got.Body), test.says) {
			t.Errorf("%s %s %s with the new token: got %d, %s; want %d that contains %q", test.method, test.path, test.body, got.Status,
				got.Body, test.status, test.says)
		}
		if got := ask(former, test.method, test.path, test.body, test.once); got.Status != http.StatusOK {
			t.Errorf("%s %s %s with the former token: got %d, %s; want 200", test.method, test.path, test.body, got.Status, got.Body)
		}
	}
	if log := o.Log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("log: got errors, want none:\n%s", log)
	}
	if got := ask(token, "DELETE", "/v1/responses/"+response, "", ""); got.Status != http.StatusOK {
		t.Errorf("DELETE with the new token: got %d, %s; want 200", got.Status, got.Body)
	}
}
