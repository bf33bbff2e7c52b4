package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestBadRequests checks mistakes outside the body, which are reported in the vendor's format.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	h := badGateway(t)
	notFound := map[string]string{"anthropic": "not_found_error", "gemini": "NOT_FOUND"}
	methods := map[string]string{"gemini": "UNIMPLEMENTED"}
	sizes := map[string]string{"anthropic": "request_too_large"}
	for _, clientAPI := range harness.VendorAPIs() {
		path, good := clientAPI.At("other/m", false), clientAPI.Body("other/m", "")
		besides := map[string]string{
			"openai": "/v1/chat/completions/x/y", "responses": "/v1/responses/x/y/z", "anthropic": "/v1/messages/x", "gemini": "/v1beta/x",
		}
		for name, test := range map[string]struct {
			ask    harness.Ask
			status int
			kinds  map[string]string // by client API, if it is not the type of an invalid request
			code   string            // at OpenAI's
		}{
			"another method":     {harness.Ask{Path: path, Method: http.MethodPut, Body: good}, 405, methods, "method_not_supported"},
			"no body":            {harness.Ask{Path: path, Method: http.MethodPost}, 400, nil, ""},
			"another type":       {harness.Ask{Path: path, Body: good, Header: []string{"Content-Type", "text/plain"}}, 415, nil, "unsupported_media_type"},
			"a form":             {harness.Ask{Path: path, Body: "a=b", Header: []string{"Content-Type", "application/x-www-form-urlencoded"}}, 415, nil, "unsupported_media_type"},
			"too large":          {harness.Ask{Path: path, Body: clientAPI.Body("other/m", `,"x":"`+strings.Repeat("a", 64<<10)+`"`)}, 413, sizes, "request_too_large"},
			"no such provider":   {harness.Ask{Path: clientAPI.At("nobody/x", false), Body: clientAPI.Body("nobody/x", "")}, 404, notFound, "model_not_found"},
			"no such model":      {harness.Ask{Path: clientAPI.At("gpt-nothing", false), Body: clientAPI.Body("gpt-nothing", "")}, 404, notFound, "model_not_found"},
			"no name of a model": {harness.Ask{Path: clientAPI.At("other%2Fa%20b", false), Body: clientAPI.Body("other/a b", "")}, 400, nil, ""},
			"nothing there":      {harness.Ask{Path: besides[clientAPI.Dialect], Body: good}, 404, notFound, "unknown_url"},
			"nothing to get":     {harness.Ask{Path: besides[clientAPI.Dialect]}, 404, notFound, "unknown_url"},
		} {
			r := h.Do(test.ask)
			e := readVendorError(t, clientAPI.Dialect, r)
			want := test.kinds[clientAPI.Dialect]
			if want == "" {
				want = invalid(clientAPI.Dialect)
			}
			isOpenAI := clientAPI.Dialect == "openai" || clientAPI.Dialect == "responses"
			if r.Status != test.status || e.kind != want || isOpenAI && e.code != test.code {
				t.Errorf("%s, %s: got %d %q %q, want %d %q %q: %s", clientAPI.Path, name, r.Status, e.kind, e.code, test.status, want, test.code, r.Body)
			}
			if allow := r.Header.Get("Allow"); strings.HasPrefix(allow, "POST") != (test.status == 405) {
				t.Errorf("%s, %s: Allow %q", clientAPI.Path, name, allow)
			}
			if strings.Contains(name, "model") && e.param != "model" || strings.Contains(name, "provider") && e.param != "model" {
				t.Errorf("%s, %s: param %q, want model", clientAPI.Path, name, e.param)
			}
		}
	}
}
