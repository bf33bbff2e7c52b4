package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestBadRequests is what is wrong beside the body, in the vendor's words.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	h := badGateway(t)
	notFound := map[string]string{"anthropic": "not_found_error", "gemini": "NOT_FOUND"}
	methods := map[string]string{"gemini": "UNIMPLEMENTED"}
	sizes := map[string]string{"anthropic": "request_too_large"}
	for _, clientAPI := range vendorAPIs() {
		path, good := clientAPI.at("other/m", false), clientAPI.body("other/m", "")
		besides := map[string]string{
			"openai": "/v1/chat/completions/x/y", "responses": "/v1/responses/x/y/z", "anthropic": "/v1/messages/x", "gemini": "/v1beta/x",
		}
		for name, test := range map[string]struct {
			ask    ask
			status int
			kinds  map[string]string // by client API, where it is not the word for an invalid request
			code   string            // at OpenAI's
		}{
			"another method":     {ask{path: path, method: http.MethodPut, body: good}, 405, methods, "method_not_supported"},
			"no body":            {ask{path: path, method: http.MethodPost}, 400, nil, ""},
			"another type":       {ask{path: path, body: good, header: []string{"Content-Type", "text/plain"}}, 415, nil, "unsupported_media_type"},
			"a form":             {ask{path: path, body: "a=b", header: []string{"Content-Type", "application/x-www-form-urlencoded"}}, 415, nil, "unsupported_media_type"},
			"too large":          {ask{path: path, body: clientAPI.body("other/m", `,"x":"`+strings.Repeat("a", 64<<10)+`"`)}, 413, sizes, "request_too_large"},
			"no such provider":   {ask{path: clientAPI.at("nobody/x", false), body: clientAPI.body("nobody/x", "")}, 404, notFound, "model_not_found"},
			"no such model":      {ask{path: clientAPI.at("gpt-nothing", false), body: clientAPI.body("gpt-nothing", "")}, 404, notFound, "model_not_found"},
			"no name of a model": {ask{path: clientAPI.at("other%2Fa%20b", false), body: clientAPI.body("other/a b", "")}, 400, nil, ""},
			"nothing there":      {ask{path: besides[clientAPI.dialect], body: good}, 404, notFound, "unknown_url"},
			"nothing to get":     {ask{path: besides[clientAPI.dialect]}, 404, notFound, "unknown_url"},
		} {
			r := h.do(test.ask)
			e := readVendorError(t, clientAPI.dialect, r)
			want := test.kinds[clientAPI.dialect]
			if want == "" {
				want = invalid(clientAPI.dialect)
			}
			isOpenAI := clientAPI.dialect == "openai" || clientAPI.dialect == "responses"
			if r.status != test.status || e.kind != want || isOpenAI && e.code != test.code {
				t.Errorf("%s, %s: got %d %q %q, want %d %q %q: %s", clientAPI.path, name, r.status, e.kind, e.code, test.status, want, test.code, r.body)
			}
			if allow := r.header.Get("Allow"); strings.HasPrefix(allow, "POST") != (test.status == 405) {
				t.Errorf("%s, %s: Allow %q", clientAPI.path, name, allow)
			}
			if strings.Contains(name, "model") && e.param != "model" || strings.Contains(name, "provider") && e.param != "model" {
				t.Errorf("%s, %s: param %q, want model", clientAPI.path, name, e.param)
			}
		}
	}
}
