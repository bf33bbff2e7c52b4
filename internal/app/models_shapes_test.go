package app_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"weir/internal/account"
)

// shelf has models of three vendors' providers and of one more, which shares a
// name with one of them, and an alias.
const shelf = `
providers:
  openai: {api_keys: [x], models: [gpt-5.4, mine, org/deep]}
  anthropic: {api_keys: [x], models: [claude-opus-4-5, o1]}
  gemini: {api_keys: [x], models: [gemini-2.5-pro]}
  house: {base_url: "http://127.0.0.1:1/v1", allow_private: true, models: [small, mine, o1, "a//b"]}
models:
  house/small: {context: 32768, max_output: 4096}
aliases:
  fast: {targets: [house/small]}
`

// wholeShelf is the names of the shelf, in order.
var wholeShelf = []string{
	"anthropic/claude-opus-4-5", "anthropic/o1", "fast", "gemini/gemini-2.5-pro", "house/a//b", "house/mine", "house/o1", "house/small",
	"openai/gpt-5.4", "openai/mine", "openai/org/deep",
}

// TestModelOfOpenAI asks for one model with OpenAI's client, which writes the
// slash in a name as %2F, and with plain slashes.
func TestModelOfOpenAI(t *testing.T) {
	t.Parallel()
	h := open(t, setup{yaml: shelf})
	client := h.sdk(h.key)
	for asked, want := range map[string]string{
		"openai/gpt-5.4": "openai/gpt-5.4", "openai/org/deep": "openai/org/deep", "house/small": "house/small", "house/a//b": "house/a//b",
		"fast": "fast", "gpt-5.4": "openai/gpt-5.4", "mine": "openai/mine", "small": "house/small",
	} {
		got, err := client.Models.Get(t.Context(), asked)
		if err != nil {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		if got.ID != want || got.Object != "model" {
			t.Errorf("%s: got %s, want %s", asked, got.RawJSON(), want)
		}
		listed := h.listed(want)
		for _, path := range []string{url.PathEscape(asked), strings.ReplaceAll(asked, "//", "/%2F")} {
			if r := h.do(ask{path: "/v1/models/" + path}); r.status != http.StatusOK || r.body != listed {
				t.Errorf("%s: got %d %s, want %s", path, r.status, r.body, listed)
			}
		}
	}
	_, err := client.Models.Get(t.Context(), "openai/nothing")
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != http.StatusNotFound || e.Code != "MODEL_NOT_FOUND" {
		t.Errorf("a model that is not there: got %v, want 404", err)
	}
}

// listed is a model as the list has it.
func (h *testGateway) listed(id string) string {
	h.t.Helper()
	body := h.do(ask{path: "/v1/models"}).body
	at := strings.Index(body, `{"id":"`+id+`"`)
	if at < 0 {
		h.t.Fatalf("no %s in %s", id, body)
	}
	end := strings.Index(body[at:], `},{"id":`)
	if end < 0 {
		end = strings.LastIndex(body[at:], "}]}")
	}
	return body[at : at+end+1]
}

// TestModelRefused is what is no model, or none for that key.
func TestModelRefused(t *testing.T) {
	t.Parallel()
	h := open(t, setup{yaml: shelf})
	narrow := h.newKey(account.KeyOptions{Account: "default", Models: []string{"house/small", "openai/*"}})
	for _, key := range []string{h.key, narrow} {
		for _, id := range []string{"nobody/x", "openai/nothing", "nothing", "gpt-5.4/", "%2F", "a%20b"} {
			want, code := http.StatusNotFound, "MODEL_NOT_FOUND"
			if strings.HasSuffix(id, "/") {
				code = "NOT_FOUND"
			}
			wantError(t, h.do(ask{path: "/v1/models/" + id, key: key}), want, code)
		}
	}
	for _, id := range []string{"anthropic/claude-opus-4-5", "fast", "claude-opus-4-5", "house/mine", "a%2F%2Fb"} {
		hidden := wantError(t, h.do(ask{path: "/v1/models/" + id, key: narrow}), http.StatusNotFound, "MODEL_NOT_FOUND")
		absent := wantError(t, h.do(ask{path: "/v1/models/x" + id, key: narrow}), http.StatusNotFound, "MODEL_NOT_FOUND")
		name, _ := url.PathUnescape(id)
		if got, want := hidden.Message, strings.Replace(absent.Message, "x"+name, name, 1); got != want {
			t.Errorf("%s: got %q, want %q as for what does not exist", id, got, want)
		}
	}
	if e := wantError(t, h.do(ask{path: "/v1/models/o1"}), http.StatusBadRequest, "INVALID_REQUEST"); !strings.Contains(e.Message, "anthropic/o1, house/o1") {
		t.Errorf("an ambiguous name: got %q, want the candidates", e.Message)
	}
	if r := h.do(ask{path: "/v1/models/o1", key: narrow}); r.status != http.StatusNotFound {
		t.Errorf("a name of which the key may use none: got %d %s, want 404", r.status, r.body)
	}
	wantError(t, h.do(ask{path: "/v1/models/fast", key: noKey, header: []string{"X-Api-Key", h.key}}), http.StatusUnauthorized, "AUTHENTICATION_ERROR")
	wantError(t, h.do(ask{path: "/v1/models/fast", method: http.MethodDelete}), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
}

// TestModelsOfAnthropic lists and asks with Anthropic's client, which pages by
// itself and has its key in another header.
func TestModelsOfAnthropic(t *testing.T) {
	t.Parallel()
	h := open(t, setup{yaml: shelf})
	client := anthropic.NewClient(
		anthropicoption.WithBaseURL(h.url), anthropicoption.WithAPIKey(h.key), anthropicoption.WithHTTPClient(h.client), anthropicoption.WithMaxRetries(0),
	)
	for _, size := range []int64{1, 3, 4, int64(len(wholeShelf)), 1000} {
		var got []string
		pages := client.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(size)})
		for pages.Next() {
			got = append(got, pages.Current().ID)
		}
		if diff := cmp.Diff(got, wholeShelf); diff != "" || pages.Err() != nil {
			t.Errorf("pages of %d: %v (-got +want)\n%s", size, pages.Err(), diff)
		}
	}
	got, err := client.Models.Get(t.Context(), "claude-opus-4-5", anthropic.ModelGetParams{})
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "anthropic/claude-opus-4-5" || got.Type != "model" || got.MaxInputTokens != 200_000 || got.CreatedAt.Year() < 2025 || got.Lifecycle != "active" {
		t.Errorf("one model: got %s", got.RawJSON())
	}
	small, err := client.Models.Get(t.Context(), "house/small", anthropic.ModelGetParams{})
	if err != nil || small.MaxTokens != 4096 || !small.CreatedAt.Equal(time.Unix(0, 0)) {
		t.Errorf("a model of the operator's own: %v, got %s", err, small.RawJSON())
	}
	_, err = client.Models.Get(t.Context(), "nothing", anthropic.ModelGetParams{})
	if e, ok := errors.AsType[*anthropic.Error](err); !ok || e.StatusCode != http.StatusNotFound || !strings.Contains(e.RawJSON(), `"type":"not_found_error"`) {
		t.Errorf("a model that is not there: got %v, want its own 404", err)
	}
}

// TestAnthropicPages is what a page of Anthropic's list tells.
func TestAnthropicPages(t *testing.T) {
	t.Parallel()
	h := open(t, setup{yaml: shelf})
	for _, tt := range []struct {
		query string
		want  []string
		more  bool
	}{
		{"", wholeShelf, false},
		{"limit=2", wholeShelf[:2], true},
		{"limit=2&after_id=" + wholeShelf[1], wholeShelf[2:4], true},
		{"limit=2&after_id=" + wholeShelf[8], wholeShelf[9:], false},
		{"after_id=" + wholeShelf[10], nil, false},
		{"limit=2&before_id=" + wholeShelf[4], wholeShelf[2:4], true},
		{"limit=2&before_id=" + wholeShelf[2], wholeShelf[:2], false},
		{"before_id=" + wholeShelf[0], nil, false},
		{"limit=1&after_id=b", wholeShelf[2:3], true}, // one that is gone
	} {
		r := h.do(ask{path: "/v1/models?" + tt.query, header: []string{"anthropic-version", "2023-06-01"}})
		var page struct {
			Data    []map[string]any `json:"data"`
			HasMore bool             `json:"has_more"`
			FirstID *string          `json:"first_id"`
			LastID  *string          `json:"last_id"`
		}
		decode(t, r.body, &page)
		var got []string
		for _, m := range page.Data {
			got = append(got, m["id"].(string))
		}
		if !slices.Equal(got, tt.want) || page.HasMore != tt.more {
			t.Errorf("%s: got %q, more %t, want %q, %t", tt.query, got, page.HasMore, tt.want, tt.more)
		}
		if n := len(tt.want); n == 0 && (page.FirstID != nil || page.LastID != nil) || n > 0 && (*page.FirstID != tt.want[0] || *page.LastID != tt.want[n-1]) {
			t.Errorf("%s: got first and last of %s", tt.query, r.body)
		}
	}
	for query, param := range map[string]string{"limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "after_id=a&before_id=b": "before_id"} {
		r := h.do(ask{path: "/v1/models?" + query, header: []string{"anthropic-version", "2023-06-01"}})
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, `"message":"`+param+`: `) || !strings.Contains(r.body, `"invalid_request_error"`) {
			t.Errorf("%s: got %d %s, want Anthropic's 400 that names %s", query, r.status, r.body, param)
		}
	}
}

// TestModelsOfGemini lists and asks with Google's client, which pages by itself
// and has its key in another header.
func TestModelsOfGemini(t *testing.T) {
	t.Parallel()
	h := open(t, setup{yaml: shelf})
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: h.key, HTTPClient: h.client, HTTPOptions: genai.HTTPOptions{BaseURL: h.url},
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range wholeShelf {
		want = append(want, "models/"+name)
	}
	for _, size := range []int32{0, 1, 3, int32(len(wholeShelf)), 5000} {
		var got []string
		page, err := client.Models.List(t.Context(), &genai.ListModelsConfig{PageSize: size})
		for ; err == nil; page, err = page.Next(t.Context()) {
			for _, m := range page.Items {
				got = append(got, m.Name)
			}
		}
		if diff := cmp.Diff(got, want); diff != "" || !errors.Is(err, genai.ErrPageDone) {
			t.Errorf("pages of %d: %v (-got +want)\n%s", size, err, diff)
		}
	}
	for _, name := range []string{"gemini-2.5-pro", "models/gemini-2.5-pro", "models/gemini/gemini-2.5-pro", "house/small"} {
		got, err := client.Models.Get(t.Context(), name, nil)
		if err != nil || got.InputTokenLimit == 0 || !slices.Contains(got.SupportedActions, "generateContent") {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	_, err = client.Models.Get(t.Context(), "nothing", nil)
	if e, ok := errors.AsType[genai.APIError](err); !ok || e.Code != http.StatusNotFound || e.Status != "NOT_FOUND" {
		t.Errorf("a model that is not there: got %v, want its own 404", err)
	}
	for path, status := range map[string]int{"/v1beta/models?pageSize=-1": 400, "/v1beta/models?pageSize=x": 400, "/v1beta/models?pageToken=zzz": 200} {
		if r := h.do(ask{path: path}); r.status != status || status == 400 && !strings.Contains(r.body, `"INVALID_ARGUMENT"`) {
			t.Errorf("%s: got %d %s, want %d", path, r.status, r.body, status)
		}
	}
}
