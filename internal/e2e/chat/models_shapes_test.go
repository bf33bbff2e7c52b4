package chat_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestModelRefused requests an unknown model, and one that the key may not use.
func TestModelRefused(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.Shelf})
	narrow := h.NewKey(account.KeyOptions{Account: "default", Models: []string{"house/small", "openai/*"}})
	for _, key := range []string{h.Key, narrow} {
		for _, id := range []string{"nobody/x", "openai/nothing", "nothing", "gpt-5.4/", "%2F", "a%20b"} {
			want, code := http.StatusNotFound, "MODEL_NOT_FOUND"
			if strings.HasSuffix(id, "/") {
				code = "NOT_FOUND"
			}
			harness.WantError(t, h.Do(harness.Ask{Path: "/v1/models/" + id, Key: key}), want, code)
		}
	}
	for _, id := range []string{"anthropic/claude-opus-4-5", "fast", "claude-opus-4-5", "house/mine", "a%2F%2Fb"} {
		hidden := harness.WantError(t, h.Do(harness.Ask{Path: "/v1/models/" + id, Key: narrow}), http.StatusNotFound, "MODEL_NOT_FOUND")
		absent := harness.WantError(t, h.Do(harness.Ask{Path: "/v1/models/x" + id, Key: narrow}), http.StatusNotFound, "MODEL_NOT_FOUND")
		name, _ := url.PathUnescape(id)
		if got, want := hidden.Message, strings.Replace(absent.Message, "x"+name, name, 1); got != want {
			t.Errorf("%s: got %q, want %q as for an unknown one", id, got, want)
		}
	}
	if e := harness.WantError(t, h.Do(harness.Ask{Path: "/v1/models/o1"}), http.StatusBadRequest, "INVALID_REQUEST"); !strings.Contains(e.Message, "anthropic/o1, house/o1") {
		t.Errorf("an ambiguous name: got %q, want the candidates", e.Message)
	}
	if r := h.Do(harness.Ask{Path: "/v1/models/o1", Key: narrow}); r.Status != http.StatusNotFound {
		t.Errorf("a name of models that the key may not use: got %d %s, want 404", r.Status, r.Body)
	}
	harness.WantError(t, h.Do(harness.Ask{Path: "/v1/models/fast", Key: harness.NoKey, Header: []string{"X-Api-Key", h.Key}}), http.StatusUnauthorized, "AUTHENTICATION_ERROR")
	harness.WantError(t, h.Do(harness.Ask{Path: "/v1/models/fast", Method: http.MethodDelete}), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
}

// TestAnthropicPages checks a page of Anthropic's list.
func TestAnthropicPages(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.Shelf})
	for _, tt := range []struct {
		query string
		want  []string
		more  bool
	}{
		{"", harness.WholeShelf, false},
		{"limit=2", harness.WholeShelf[:2], true},
		{"limit=2&after_id=" + harness.WholeShelf[1], harness.WholeShelf[2:4], true},
		{"limit=2&after_id=" + harness.WholeShelf[8], harness.WholeShelf[9:], false},
		{"after_id=" + harness.WholeShelf[10], nil, false},
		{"limit=2&before_id=" + harness.WholeShelf[4], harness.WholeShelf[2:4], true},
		{"limit=2&before_id=" + harness.WholeShelf[2], harness.WholeShelf[:2], false},
		{"before_id=" + harness.WholeShelf[0], nil, false},
		{"limit=1&after_id=b", harness.WholeShelf[2:3], true}, // an unknown one
	} {
		r := h.Do(harness.Ask{Path: "/v1/models?" + tt.query, Header: []string{"anthropic-version", "2023-06-01"}})
		var page struct {
			Data    []map[string]any `json:"data"`
			HasMore bool             `json:"has_more"`
			FirstID *string          `json:"first_id"`
			LastID  *string          `json:"last_id"`
		}
		harness.Decode(t, r.Body, &page)
		var got []string
		for _, m := range page.Data {
			got = append(got, m["id"].(string))
		}
		if !slices.Equal(got, tt.want) || page.HasMore != tt.more {
			t.Errorf("%s: got %q, more %t, want %q, %t", tt.query, got, page.HasMore, tt.want, tt.more)
		}
		if n := len(tt.want); n == 0 && (page.FirstID != nil || page.LastID != nil) || n > 0 && (*page.FirstID != tt.want[0] || *page.LastID != tt.want[n-1]) {
			t.Errorf("%s: got first and last of %s", tt.query, r.Body)
		}
	}
	for query, param := range map[string]string{"limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "after_id=a&before_id=b": "before_id"} {
		r := h.Do(harness.Ask{Path: "/v1/models?" + query, Header: []string{"anthropic-version", "2023-06-01"}})
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, `"message":"`+param+`: `) || !strings.Contains(r.Body, `"invalid_request_error"`) {
			t.Errorf("%s: got %d %s, want Anthropic's 400 that names %s", query, r.Status, r.Body, param)
		}
	}
}
