package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestBadRequests is what is wrong beside the body, in the vendor's words.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	h := badHouse(t)
	notFound := map[string]string{"anthropic": "not_found_error", "gemini": "NOT_FOUND"}
	methods := map[string]string{"gemini": "UNIMPLEMENTED"}
	sizes := map[string]string{"anthropic": "request_too_large"}
	for _, door := range vendorDoors() {
		path, good := door.at("other/m", false), door.body("other/m", "")
		besides := map[string]string{
			"openai": "/v1/chat/completions/x/y", "responses": "/v1/responses/x/y/z", "anthropic": "/v1/messages/x", "gemini": "/v1beta/x",
		}
		for name, test := range map[string]struct {
			ask    ask
			status int
			kinds  map[string]string // by door, where it is not the word for an invalid request
			code   string            // at OpenAI's
		}{
			"another method":     {ask{path: path, method: http.MethodPut, body: good}, 405, methods, "method_not_supported"},
			"no body":            {ask{path: path, method: http.MethodPost}, 400, nil, ""},
			"another type":       {ask{path: path, body: good, header: []string{"Content-Type", "text/plain"}}, 415, nil, "unsupported_media_type"},
			"a form":             {ask{path: path, body: "a=b", header: []string{"Content-Type", "application/x-www-form-urlencoded"}}, 415, nil, "unsupported_media_type"},
			"too large":          {ask{path: path, body: door.body("other/m", `,"x":"`+strings.Repeat("a", 64<<10)+`"`)}, 413, sizes, "request_too_large"},
			"no such provider":   {ask{path: door.at("nobody/x", false), body: door.body("nobody/x", "")}, 404, notFound, "model_not_found"},
			"no such model":      {ask{path: door.at("gpt-nothing", false), body: door.body("gpt-nothing", "")}, 404, notFound, "model_not_found"},
			"no name of a model": {ask{path: door.at("other%2Fa%20b", false), body: door.body("other/a b", "")}, 400, nil, ""},
			"nothing there":      {ask{path: besides[door.dialect], body: good}, 404, notFound, "unknown_url"},
			"nothing to get":     {ask{path: besides[door.dialect]}, 404, notFound, "unknown_url"},
		} {
			r := h.do(test.ask)
			e := readVendorError(t, door.dialect, r)
			want := test.kinds[door.dialect]
			if want == "" {
				want = invalid(door.dialect)
			}
			isOpenAI := door.dialect == "openai" || door.dialect == "responses"
			if r.status != test.status || e.kind != want || isOpenAI && e.code != test.code {
				t.Errorf("%s, %s: got %d %q %q, want %d %q %q: %s", door.path, name, r.status, e.kind, e.code, test.status, want, test.code, r.body)
			}
			if allow := r.header.Get("Allow"); strings.HasPrefix(allow, "POST") != (test.status == 405) {
				t.Errorf("%s, %s: Allow %q", door.path, name, allow)
			}
			if strings.Contains(name, "model") && e.param != "model" || strings.Contains(name, "provider") && e.param != "model" {
				t.Errorf("%s, %s: param %q, want model", door.path, name, e.param)
			}
		}
	}
}
